"""The folder of a run: its checkpoints, its journal and picture, and what it records about itself."""
