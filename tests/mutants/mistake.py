"""What a deliberate mistake is."""

from typing import NamedTuple


class Mistake(NamedTuple):
    """A change of the source that makes it wrong, and the tests that must notice."""

    name: str
    """What is wrong, in words."""
    old: str
    """Text that occurs exactly once in the package, in whichever file."""
    new: str
    """What takes its place."""
    tests: str
    """Arguments for pytest, from the folder of the tests: one file or more, and ``-k`` for some of their tests."""
