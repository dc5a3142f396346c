"""One HTML file that holds all it needs: markup, charts, pixels, style and script."""
