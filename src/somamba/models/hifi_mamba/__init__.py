"""HiFi-Mamba."""
