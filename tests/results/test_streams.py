"""A file of streams is read as it was written, or refused."""

from dataclasses import fields, replace

import numpy as np
import pytest

from results.made_streams import recorded
from somamba.errors import InputError
from somamba.results.streams import read_streams, write_streams


@pytest.mark.parametrize("evidence", [True, False])
def test_what_was_written_is_read_back(tmp_path, evidence):
    made = recorded(evidence=evidence)
    write_streams(tmp_path / "s.npz", made)
    found = read_streams(tmp_path / "s.npz")
    assert found.facts == made.facts
    assert found.units == 3
    for field in fields(made)[1:]:
        np.testing.assert_array_equal(getattr(found, field.name), getattr(made, field.name))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"text"])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "s.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"not written by somamba streams, or is damaged"):
        read_streams(tmp_path / "s.npz")


def test_another_npz_file_is_refused(tmp_path):
    np.savez(tmp_path / "s.npz", a=np.zeros(3))
    with pytest.raises(InputError, match="not written by somamba streams"):
        read_streams(tmp_path / "s.npz")


@pytest.mark.parametrize(
    "changes",
    [
        {"carrier_power": np.zeros((3, 9), np.float32)},
        {"evidence": np.zeros((2, 8, 10), np.float32)},
        {"evidence": None},
        {"reconstruction": np.zeros((20, 16), np.float32)},
        {"carrier": np.full((3, 8, 10), np.nan, np.float32)},
    ],
    ids=["rings", "units", "no pictures", "size", "not finite"],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, changes):
    write_streams(tmp_path / "s.npz", replace(recorded(), **changes))
    with pytest.raises(InputError, match="anew"):
        read_streams(tmp_path / "s.npz")
