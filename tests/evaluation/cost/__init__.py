"""Tests of somamba.evaluation.cost.counted."""
