"""Sizes are judged by what is declared, before anything is allocated."""

import numpy as np
import pytest

from somamba.files.limits import RefusedError, array_answer, check_array, check_rows


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
    with pytest.raises(RefusedError, match="GiB at once"):
        check_rows((4, 1 << 30), 8, 0, 1)


def test_answers_are_in_the_byte_order_of_this_machine():
    answer = array_answer(np.arange(3, dtype=">f4"))
    assert answer.header == {"shape": [3], "dtype": np.dtype("f4").str, "bytes": 12}
