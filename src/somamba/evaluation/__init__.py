"""Numbers about results."""
