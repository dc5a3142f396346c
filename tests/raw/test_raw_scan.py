"""The record: what it hands out is the caller's own, and what does not fit is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from raw.made import coil_kspace
from somamba.errors import DataError
from somamba.files.reading import Volume
from somamba.raw.raw_scan import RawScan

STACK = np.stack([coil_kspace(), 2 * coil_kspace()])


def scan(**changes):
    volume = Volume(shape=STACK.shape, read=lambda start, stop: STACK[start:stop])
    return RawScan(**{"path": Path("a"), "format": "made", "volume": volume, "image_shape": (20, 10), **changes})


def test_writing_into_a_slice_does_not_change_the_scan():
    made = scan()
    made.kspace(0).zero_()
    np.testing.assert_array_equal(made.kspace(0).numpy(), STACK[0])


def test_a_picture_is_cut_out_of_the_middle_and_turned_back():
    image = torch.arange(32 * 24).reshape(1, 32, 24)
    assert torch.equal(scan().picture(image), image[:, 6:26, 7:17])
    assert torch.equal(scan(transposed=True, image_shape=(10, 20)).picture(image), image[:, 6:26, 7:17].mT)


def test_maps_of_one_slice_serve_all():
    maps = Volume(shape=(1, *STACK.shape[1:]), read=lambda start, stop: STACK[start:stop])
    np.testing.assert_array_equal(scan(coil_maps=maps).maps(1).numpy(), STACK[0])
    assert scan().maps(0) is None


def test_slices_that_do_not_exist_and_maps_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="There is no slice 2"):
        scan().kspace(2)
    maps = Volume(shape=(3, *STACK.shape[1:]), read=lambda start, stop: STACK[start:stop])
    with pytest.raises(DataError, match="do not fit k-space"):
        scan(coil_maps=maps)
