"""Fixtures of the compiled kernels."""

from native.machine import instruction_set, threads, without_native  # noqa: F401
