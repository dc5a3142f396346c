"""Tests of somamba.training.sweep."""
