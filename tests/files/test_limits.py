"""Sizes are judged by what is declared, before anything is allocated."""

import numpy as np
import pytest

from somamba.files.limits import (
    READ_BYTES,
    RefusedError,
    check_array,
    check_members,
    check_rows,
    check_unpacking,
    cpu_seconds,
)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((2, 0), "f4"), ((), "f4"), ((1,) * 6, "f4"), ((1 << 20, 1 << 20), "f4"), ((4,), "O"), ((4,), "S100")],
)
def test_implausible_arrays_are_refused(shape, dtype):
    with pytest.raises(RefusedError):
        check_array(shape, np.dtype(dtype))


def test_rows_must_exist_and_fit():
    check_rows((4, 8), 8, 0, 4)
    with pytest.raises(RefusedError, match="do not exist"):
        check_rows((4, 8), 8, 3, 5)
    with pytest.raises(RefusedError, match="8,192 MiB at once"):
        check_rows((4, 1 << 30), 8, 0, 1)


def test_what_unpacks_to_far_more_than_is_stored_is_refused():
    check_unpacking(READ_BYTES, 1)
    check_unpacking(10 * READ_BYTES, READ_BYTES)
    with pytest.raises(RefusedError, match="unpack 1,048,576 bytes to 268,435,456"):
        check_unpacking(2 * READ_BYTES, 1 << 20)


def test_more_members_than_are_looked_at_are_refused():
    check_members(256)
    with pytest.raises(RefusedError, match="257 members"):
        check_members(257)


def test_large_files_and_long_answers_may_take_longer():
    small, large, answered = cpu_seconds(1, 0), cpu_seconds(1 << 30, 0), cpu_seconds(1, 1 << 30)
    assert small < 5 < 14 < answered < large
