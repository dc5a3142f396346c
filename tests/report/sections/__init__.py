"""Tests of somamba.report."""
