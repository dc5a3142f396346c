"""Tests of the sandboxed reading of files."""
