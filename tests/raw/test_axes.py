"""Axes are found from sizes and energy, and only what cannot be told is asked for."""

from pathlib import Path

import numpy as np
import pytest

from raw.made import coil_kspace
from somamba.errors import ConfigError, DataError
from somamba.raw.axes import Choices, find_axes, maps_axes

PATH = Path("a.npy")


def found(array):
    return find_axes(PATH, array.shape, lambda start, stop: array[start:stop])


@pytest.mark.parametrize("turn", [np.asarray, lambda k: np.fft.ifftshift(k, axes=(-2, -1))])
@pytest.mark.parametrize("coils", [1, 2, 5, 13])
def test_coils_are_found_first_or_last_whether_centred_or_not(coils, turn):
    kspace = turn(coil_kspace(coils, 48, 40))
    assert found(kspace) == ("coils", "y", "x")
    assert found(np.moveaxis(kspace, 0, -1)) == ("y", "x", "coils")
    stack = np.stack([kspace] * 3)
    assert found(stack) == ("slices", "coils", "y", "x")
    assert found(np.moveaxis(stack, 1, -1)) == ("slices", "y", "x", "coils")


def test_an_undersampled_array_is_understood_too():
    kspace = coil_kspace(6, 48, 40)
    kspace[..., 1::3] = 0
    assert found(np.moveaxis(kspace, 0, -1)) == ("y", "x", "coils")


def test_slices_and_coils_behind_y_and_x_are_asked_for_unless_one_has_a_single_entry():
    kspace = np.moveaxis(coil_kspace(6, 48, 40), 0, -1)
    assert found(kspace[:, :, None]) == ("y", "x", "slices", "coils")
    assert found(kspace[..., None]) == ("y", "x", "coils", "slices")
    with pytest.raises(DataError, match=r"cannot be told.*--axes y,x,slices,coils"):
        found(np.stack([kspace] * 3, axis=2))


def test_many_first_entries_are_slices_and_nothing_is_read_to_find_usual_axes():
    def never(_start, _stop):
        raise AssertionError("read")

    assert find_axes(PATH, (80, 256, 256), never) == ("slices", "y", "x")
    assert find_axes(PATH, (20, 8, 256, 256), never) == ("slices", "coils", "y", "x")
    with pytest.raises(DataError, match="2 to 4 axes"):
        find_axes(PATH, (2, 2, 2, 2, 2), never)


def test_maps_may_have_the_order_of_their_kspace_or_the_usual_one():
    sizes = {"slices": 5, "coils": 3, "y": 32, "x": 24}
    assert maps_axes((3, 32, 24), sizes) == ("coils", "y", "x")
    assert maps_axes((32, 24, 3), sizes) == ("y", "x", "coils")
    assert maps_axes((1, 3, 32, 24), sizes) == ("slices", "coils", "y", "x")
    assert maps_axes((24, 32, 3), sizes, ("slices", "x", "y", "coils")) == ("x", "y", "coils")
    for shape in ((2, 32, 24), (2, 3, 32, 24), (32, 24), (3, 24, 32)):
        assert maps_axes(shape, sizes) is None


@pytest.mark.parametrize("axes", [("y",), ("y", "x", "x"), ("y", "x", "time"), ()])
def test_axes_must_be_named_once_each(axes):
    with pytest.raises(ConfigError, match="are not understood"):
        Choices(axes=axes)
