"""Axes are found from sizes and energy, and k-space of any convention ends up centred, phase encoding along columns."""

from pathlib import Path

import numpy as np
import pytest
import torch

from raw.made import coil_kspace, columns
from somamba.errors import ConfigError, DataError
from somamba.physics.fourier import fft2c, ifft2c
from somamba.raw.layout import Arrangement, Choices, find_arrangement, find_axes, maps_axes

PATH = Path("a.npy")
YX = (-2, -1)
SIZES = [(32, 24), (31, 25)]


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


def images(height, width):
    return ifft2c(torch.from_numpy(coil_kspace(3, height, width))).numpy()


CONVENTIONS = {
    "centred": (lambda image: np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(image, axes=YX)), axes=YX), False, False),
    "plain": (np.fft.fft2, True, True),
    "shifted afterwards": (lambda image: np.fft.fftshift(np.fft.fft2(image), axes=YX), False, True),
    "shifted before": (lambda image: np.fft.fft2(np.fft.ifftshift(image, axes=YX)), True, False),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CONVENTIONS)
def test_every_convention_gives_the_same_images(name, size):
    transform, corner, rolled = CONVENTIONS[name]
    kspace = (transform(images(*size)) / np.sqrt(np.prod(size))).astype(np.complex64)
    arrangement = find_arrangement(kspace, PATH, centred=None, may_be_rolled=True)
    assert (arrangement.corner, arrangement.rolled) == (corner, rolled)
    np.testing.assert_allclose(ifft2c(torch.from_numpy(arrangement.apply(kspace))).numpy(), images(*size), atol=1e-5)


def test_zeros_stay_exactly_zero():
    kspace = columns(coil_kspace(3, 31, 25), 3, 5)
    turned = Arrangement(rolled=True, corner=True).apply(kspace)
    np.testing.assert_array_equal(turned != 0, np.fft.fftshift(kspace != 0, axes=YX))


def test_phase_encoding_along_rows_is_turned_into_columns():
    kspace = columns(coil_kspace(), 2, 6)
    turned = np.ascontiguousarray(kspace.swapaxes(*YX))
    arrangement = find_arrangement(turned, PATH, centred=None, may_be_rolled=True)
    assert arrangement == Arrangement(transposed=True)
    np.testing.assert_array_equal(arrangement.apply(turned), kspace)
    assert "phase encoding runs along y" in arrangement.notes()[0]


def test_images_are_not_taken_for_kspace():
    with pytest.raises(DataError, match=r"a\.npy: this does not look like k-space"):
        find_arrangement(images(32, 24), PATH, centred=None, may_be_rolled=True)
    assert not find_arrangement(images(32, 24), PATH, centred=True, may_be_rolled=False).corner


def test_a_format_that_fixes_the_middle_of_the_image_is_believed():
    rolled = CONVENTIONS["shifted afterwards"][0](images(32, 24)).astype(np.complex64)
    assert find_arrangement(rolled, PATH, centred=None, may_be_rolled=False) == Arrangement()


def test_a_user_who_says_that_all_is_centred_is_believed():
    rolled = CONVENTIONS["shifted afterwards"][0](images(32, 24)).astype(np.complex64)
    assert find_arrangement(rolled, PATH, centred=None, may_be_rolled=True) == Arrangement(rolled=True)
    assert find_arrangement(rolled, PATH, centred=True, may_be_rolled=True) == Arrangement()


@pytest.mark.parametrize("flip", [4, 7])
@pytest.mark.parametrize("turn", [np.asarray, np.conj, lambda k: k[:, ::-1], lambda k: k[:1].conj()])
def test_a_real_head_that_fills_the_view_is_rolled_back_whichever_way_it_lies(flip, turn, shared_data):
    kspace = np.fft.fftshift(np.load(shared_data / "raw_kspace" / f"brain_13coil_flip{flip}.npy"), axes=(-2, -1))
    signs = np.where(np.arange(224) % 2, -1, 1)
    for lies, expected in ((turn(kspace), True), (turn(kspace) * signs[:, None] * signs, False)):
        found = find_arrangement(lies.astype(np.complex64), Path("a"), centred=None, may_be_rolled=True)
        assert (found.corner, found.rolled) == (False, expected)


def folded(kspace, columns):
    """A centred scan of a field of view that is only so many columns wide; what lies outside folds in."""
    images = ifft2c(torch.from_numpy(kspace)).numpy()
    narrow = np.zeros((*images.shape[:2], columns), images.dtype)
    for column in range(images.shape[2]):
        narrow[:, :, (column - images.shape[2] // 2 + columns // 2) % columns] += images[:, :, column]
    return fft2c(torch.from_numpy(narrow)).numpy()


@pytest.mark.parametrize("columns", [168, 150, 128, 112])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("acceleration", [1, 2])
def test_a_head_that_folds_over_is_not_taken_for_rolled(columns, turned, acceleration, shared_data):
    kspace = np.fft.fftshift(np.load(shared_data / "raw_kspace" / "brain_13coil_flip4.npy"), axes=YX)
    kspace = Arrangement(rolled=True).apply(kspace)
    narrow = folded(np.ascontiguousarray(kspace.swapaxes(*YX)) if turned else kspace, columns)
    acquired = np.arange(columns) % acceleration == 0
    acquired[columns // 2 - 12 : columns // 2 + 12] = True
    found = find_arrangement(np.where(acquired, narrow, 0), PATH, centred=None, may_be_rolled=True)
    assert not found.rolled
    assert ("left as it is" in " ".join(found.notes())) == found.unclear
    # Along its other axis this head leaves hardly a border, so upright little tells how it lies.
    if turned or columns < 168:
        assert found.unclear == (not turned)


def test_an_image_that_fills_the_view_is_taken_for_what_programs_do():
    image = np.ones((1, 32, 24), np.complex64)
    centred, plain = CONVENTIONS["centred"][0](image), CONVENTIONS["plain"][0](image)
    assert find_arrangement(centred, PATH, centred=None, may_be_rolled=True) == Arrangement(unclear=True)
    found = find_arrangement(plain, PATH, centred=None, may_be_rolled=True)
    assert found == Arrangement(corner=True, rolled=True, unclear=True)
    assert "rolled back. If the picture is cut apart" in found.notes()[1]
