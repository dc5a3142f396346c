"""Records of results to tables."""
