"""Tests of somamba.inference.weights."""
