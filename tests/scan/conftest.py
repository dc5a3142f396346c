"""What the tests of several backends share."""

from native.machine import instruction_set, threads, without_native  # noqa: F401
