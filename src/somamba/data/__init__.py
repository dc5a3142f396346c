"""From a dataset on disk to batches: files, cases, splits, protocols, prepared slices."""
