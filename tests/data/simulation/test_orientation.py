"""Training slices are mirrored and turned as drawn, before they are measured; those of validation never are."""

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
