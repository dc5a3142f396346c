"""Networks that turn measurements into images."""
