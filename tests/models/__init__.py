"""Tests of somamba.models."""
