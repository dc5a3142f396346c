"""Tests of somamba.report.figures."""
