"""Tests of somamba.files.formats."""
