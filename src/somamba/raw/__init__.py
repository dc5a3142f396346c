"""A user's own file, whatever wrote it, as one record: `somamba.raw.opening.open_raw_scan`."""
