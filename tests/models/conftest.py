"""Fixtures of the networks."""

from native.machine import without_native  # noqa: F401
