"""Tests of somamba.scan.selective."""
