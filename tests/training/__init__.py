"""Tests of somamba.training."""
