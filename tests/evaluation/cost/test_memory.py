"""Memory is what a task adds, measured in a fresh process."""

import sys

import pytest

from somamba.errors import InputError
from somamba.evaluation.cost.memory import CLEAR, in_child

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux") or not CLEAR.exists(), reason="needs /proc")
ADDED = (
    "from somamba.evaluation.cost.memory import added_megabytes; print(added_megabytes(lambda: torch.ones({} << 18)))"
)


def test_what_a_task_allocates_is_seen():
    assert in_child(ADDED.format(64), 1) == pytest.approx(64, abs=8)


def test_a_child_that_fails_says_why():
    with pytest.raises(InputError, match="ZeroDivisionError"):
        in_child("1 / 0", 1)
