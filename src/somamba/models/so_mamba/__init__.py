"""State-Ownership Mamba, part by part."""
