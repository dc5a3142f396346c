"""BART's pairs: axes in order, sizes checked against the file."""

import numpy as np
import pytest

from somamba.errors import DataError
from somamba.files import reading


def pair(folder, header, n_values):
    (folder / "a.hdr").write_text(header)
    np.arange(n_values, dtype=np.complex64).tofile(folder / "a.cfl")
    return folder / "a.cfl"


def test_the_first_axis_varies_fastest_and_late_axes_are_frames(tmp_path):
    path = pair(tmp_path, "# Dimensions\n4 3 1 2 1 1 1 1 1 1 5 \n", 120)
    assert reading.inspect(path).arrays["array"].shape == (5, 2, 1, 3, 4)
    np.testing.assert_array_equal(reading.read(path, "array", 1, 2)[0, 0, 0, 0], [24, 25, 26, 27])


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("4 3 2\n", "no line '# Dimensions'"),
        ("# Dimensions\n", "declares the sizes"),
        ("# Dimensions\nfour 3\n", "damaged"),
        ("# Dimensions\n4 0 2\n", "declares the sizes"),
        ("# Dimensions\n" + "1 " * 17 + "\n", "declares the sizes"),
        ("# Dimensions\n4 3 3\n", "declares 288 bytes, the file has 192"),
    ],
)
def test_headers_that_do_not_fit_are_refused(header, words, tmp_path):
    with pytest.raises(DataError, match=words):
        reading.inspect(pair(tmp_path, header, 24))
