"""Tests of somamba.inference.raw.formats."""
