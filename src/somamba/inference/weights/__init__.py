"""Weights on disk and on model hubs: read, checked, opened as models, and handed on."""
