"""ReconFormer, part by part."""
