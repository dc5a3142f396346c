"""Tests of somamba.models.lmo."""
