"""Fixtures of the networks."""

from native.machine import instruction_set, threads, without_native  # noqa: F401
