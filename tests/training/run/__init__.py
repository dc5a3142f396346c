"""Tests of somamba.training.run."""
