"""Tests of somamba.cli.commands."""
