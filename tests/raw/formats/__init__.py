"""Tests of somamba.raw.formats."""
