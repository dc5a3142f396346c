"""Tests of somamba.models.layers."""
