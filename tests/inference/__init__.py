"""Tests of somamba.inference."""
