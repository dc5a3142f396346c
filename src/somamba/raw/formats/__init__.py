"""One reader for each format of raw scans, and one for arrays in memory."""
