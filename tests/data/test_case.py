"""A case refuses data it cannot stand for, and says how to fix it."""

from pathlib import Path

import numpy as np
import pytest

from somamba.data.case import Case, Entry, Listing
from somamba.errors import DataError
from somamba.files.reading import BLOCK_BYTES, Volume


def volume(*shape: int) -> Volume:
    return Volume(shape=shape, read=lambda start, stop: np.arange(start, stop, dtype=np.float32))


def test_kspace_without_a_coil_axis_is_refused():
    with pytest.raises(DataError, match=r"'c1' \(c1.h5\).*got \(35, 64, 32\).*kspace\[:, None\]"):
        Case(id="c1", kspace=volume(35, 64, 32), source="c1.h5")


def test_images_and_kspace_must_have_equally_many_slices():
    with pytest.raises(DataError, match="3 slices of k-space but 2 images"):
        Case(id="c1", kspace=volume(3, 1, 8, 8), image=volume(2, 8, 8), source="c1.h5")


def test_a_case_without_anything_is_refused():
    with pytest.raises(DataError, match="neither k-space nor images"):
        Case(id="c1", source="c1.h5")
    with pytest.raises(DataError, match="no slices"):
        Case(id="c1", image=volume(0, 8, 8), source="c1.h5")


def test_two_cases_of_one_name_are_refused():
    first, second = (
        Entry(id="c1", subject="c1", role="train", files=(Path(name),), root=Path()) for name in ("a.h5", "b.h5")
    )
    with pytest.raises(DataError, match=r"'c1': a\.h5 and b\.h5"):
        Listing(entries=(first, second))


def test_blocks_cover_the_wanted_slices_once_and_stay_small():
    sizes = []

    def read(start: int, stop: int) -> np.ndarray:
        sizes.append(stop - start)
        return np.arange(start, stop)

    tall = Volume(shape=(100, BLOCK_BYTES // 64), read=read, itemsize=8)
    assert list(tall.blocks(range(10, 95))) == [(number, number) for number in range(10, 95)]
    assert max(sizes) == 8


def test_a_slice_that_does_not_exist_is_refused():
    with pytest.raises(DataError, match="no slice 2; the volume has slices 0 to 1"):
        volume(2, 8, 8).slice(2)
