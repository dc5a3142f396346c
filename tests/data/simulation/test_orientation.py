"""Training slices are mirrored, turned and tilted as drawn, before they are measured; those of validation never are."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.simulation.orientation import Orientation
from somamba.data.simulation.seeds import Draw
from somamba.data.slices import open_slices
from somamba.physics.fourier import fft2c

SQUARE, OBLONG = np.arange(16.0).reshape(4, 4), np.arange(12.0).reshape(3, 4)


def drawn(image, epochs=400, **options):
    """How often each orientation came, by its bytes."""
    orientation = Orientation(**options)
    images = [orientation.apply(image, Draw(0, epoch, "case", 3)) for epoch in range(epochs)]
    assert {made.shape for made in images} == {image.shape}
    return Counter(made.tobytes() for made in images)


@pytest.mark.parametrize(
    ("image", "options", "kinds"),
    [
        (SQUARE, {}, 1),
        (SQUARE, {"mirror": True}, 2),
        (SQUARE, {"turn": True}, 4),
        (SQUARE, {"mirror": True, "turn": True}, 8),
        (OBLONG, {"turn": True}, 2),
        (OBLONG, {"mirror": True, "turn": True}, 4),
    ],
)
def test_every_allowed_orientation_comes_about_equally_often(image, options, kinds):
    counts = drawn(image, **options)
    assert len(counts) == kinds
    assert min(counts.values()) > 0.6 * 400 / kinds


def test_mirrored_and_turned_images_are_just_that():
    images = {image.tobytes() for image in (np.rot90(SQUARE[:, ::step], k) for step in (1, -1) for k in range(4))}
    assert set(drawn(SQUARE, mirror=True, turn=True)) == images


def test_the_draw_is_a_function_of_seed_epoch_case_and_slice():
    orientation = Orientation(mirror=True, turn=True)
    names = [(0, 0, "a", 0), (1, 0, "a", 0), (0, 1, "a", 0), (0, 0, "b", 0), (0, 0, "a", 1)]
    series = [
        [orientation.apply(SQUARE, Draw(seed, 7 * epoch + k, case, slice_)).tobytes() for k in range(30)]
        for seed, epoch, case, slice_ in names
    ]
    again = [orientation.apply(SQUARE, Draw(0, k, "a", 0)).tobytes() for k in range(30)]
    assert again == series[0]
    assert len({tuple(one) for one in series}) == len(names)


def test_the_image_is_turned_first_and_then_measured_through_the_fixed_mask(tmp_path):
    write_phantom("acdc", tmp_path / "acdc", cases={"train": 2, "test": 1}, slices=2)
    config = DataConfig(path=str(tmp_path / "acdc"), cache=str(tmp_path / "cache"), size=(16, 16))
    plain = open_slices(config, "test")
    turned = replace(plain, orientation=Orientation(mirror=True, turn=True))
    changed = 0
    for epoch in range(6):
        before, after = plain.at(epoch)[1], turned.at(epoch)[1]
        assert after.mask.equal(before.mask)
        image = after.target
        assert sorted(image.flatten().tolist()) == sorted(before.target.flatten().tolist())
        kspace = torch.where(after.mask, fft2c(torch.complex(image, torch.zeros_like(image))), 0)
        assert torch.allclose(after.kspace, kspace)
        changed += not image.equal(before.target)
    assert changed > 0


def smooth(shape=(32, 32)):
    """An object in the middle of dark surroundings, between 0 and 1."""
    y, x = np.meshgrid(*(np.linspace(-1, 1, length) for length in shape), indexing="ij")
    return np.exp(-6 * (x - 0.1) ** 2 - 9 * (y + 0.1) ** 2).astype(np.float32)


def tilted(image, epochs, tilt=1.0):
    orientation = Orientation(tilt=tilt)
    return [orientation.apply(image, Draw(0, epoch, "case", 3)) for epoch in range(epochs)]


def test_about_so_many_slices_are_tilted_as_was_asked_for():
    image = smooth()
    changed = sum(not np.array_equal(made, image) for made in tilted(image, 400, tilt=0.3))
    assert 80 < changed < 160


@pytest.mark.parametrize("shape", [(32, 32), (24, 40)])
def test_a_tilted_slice_keeps_its_shape_and_spans_zero_to_one(shape):
    for made in tilted(smooth(shape), 20):
        assert made.shape == shape
        assert made.dtype == np.float32
        assert (made.min(), made.max()) == (0, 1)


def test_a_tilt_moves_the_object_a_little_and_nothing_dark_comes_in_at_the_edges():
    image = np.clip(smooth() + 0.5, 0, None)
    start = np.array([np.average(index, weights=smooth()) for index in np.indices(image.shape)])
    for made in tilted(smooth(), 20):
        place = np.array([np.average(index, weights=made) for index in np.indices(made.shape)])
        assert 0 < np.abs(place - start).max() < 0.2 * 32
    # Surroundings of 0.5 stay at 0.5 of what is scaled: beyond the edges lies the mirror image, not zero.
    assert all(made.min() == 0 and np.median(made) < 0.2 for made in tilted(image, 20))


def test_an_image_without_contrast_stays_as_it_is():
    flat = np.full((8, 8), 0.5, dtype=np.float32)
    assert all(np.array_equal(made, flat) for made in tilted(flat, 5))
