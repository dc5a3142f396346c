"""Trained models on disk and at work."""
