"""Tests of the Triton scan."""
