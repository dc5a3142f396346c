"""Tests of somamba.scan."""
