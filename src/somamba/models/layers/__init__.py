"""Parts used by two models or more."""
