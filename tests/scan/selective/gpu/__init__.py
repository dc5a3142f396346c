"""Tests of the selective Triton scan."""
