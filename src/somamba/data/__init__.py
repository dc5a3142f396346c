"""Turns datasets on disk into batches: files, cases, splits, protocols, prepared slices."""
