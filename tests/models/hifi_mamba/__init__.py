"""Tests of somamba.models.hifi_mamba."""
