"""A user's own file, whatever wrote it, as one record: `somamba.inference.scans.opening.open_scan`."""
