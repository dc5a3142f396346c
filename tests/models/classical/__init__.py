"""Tests of somamba.models.classical."""
