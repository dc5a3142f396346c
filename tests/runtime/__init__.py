"""Tests of somamba.runtime."""
