"""Methods that have nothing to learn."""
