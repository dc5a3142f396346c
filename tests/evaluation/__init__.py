"""Tests of somamba.evaluation."""
