"""HiFi-Mamba: dual-stream Mamba of two frequency bands."""
