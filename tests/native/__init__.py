"""Tests of somamba.native."""
