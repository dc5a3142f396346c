"""Tests of somamba.models.so_mamba."""
