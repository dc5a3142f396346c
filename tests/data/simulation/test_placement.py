"""Objects fill the view as asked, keep their brightness, and have a spectrum without empty margins."""

import numpy as np
import pytest
import torch

from somamba.data.simulation.placement import FINER, View, at_resolution, dressed, placed
from somamba.physics.fourier import fft2c


def disc(height=120, width=100):
    y, x = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
    return torch.where((y / 0.8) ** 2 + (x / 0.6) ** 2 < 1, 100.0, 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_an_object_fills_the_share_that_is_asked_for(seed):
    view = View((80, 64), (0.8, 0.7))
    fine = placed(disc(), view, np.random.default_rng(seed))
    assert fine.shape == (int(80 * FINER), int(64 * FINER))
    rows, columns = (int((fine > 50).any(dim=axis).sum()) for axis in (1, 0))
    # It is tilted a little, so an ellipse may be shorter along one axis and longer along the other.
    assert rows == pytest.approx(0.8 * fine.shape[0], rel=0.08)
    assert columns == pytest.approx(0.7 * fine.shape[1], rel=0.08)


def test_a_small_image_is_not_enlarged_beyond_its_resolution():
    fine = placed(disc(30, 30), View((128, 128), (0.9, 0.9)), np.random.default_rng(0))
    assert int((fine > 50).any(dim=1).sum()) < 1.2 * FINER * 30


def test_the_scan_sees_the_object_at_its_brightness():
    fine = placed(disc(), View((80, 64), (0.9, 0.9)), np.random.default_rng(1)).to(torch.complex64)
    seen = at_resolution(fine, (80, 64)).abs()
    assert float(seen[36:44, 28:36].mean()) == pytest.approx(100, rel=0.02)


def test_no_part_of_the_spectrum_is_empty():
    noise = torch.from_numpy(np.random.default_rng(0).uniform(50, 100, (200, 200)).astype(np.float32))
    fine = placed(noise, View((96, 96), (0.9, 0.9)), np.random.default_rng(2)).to(torch.complex64)
    energy = fft2c(at_resolution(fine, (96, 96))).abs().square()
    assert energy[:8].mean() > 0.05 * energy[20:28].mean()


def test_a_brain_gets_a_head_and_a_head_keeps_its_own():
    image = disc()
    bare = dressed(image, np.random.default_rng(3), stripped=True, scalp=0, fat=1)
    covered = dressed(image, np.random.default_rng(3), stripped=True, scalp=1, fat=1)
    kept = dressed(image, np.random.default_rng(3), stripped=False, scalp=1, fat=0)
    outside = image == 0
    assert not bare[outside].any()
    assert (covered[outside].abs() > 1).any()
    assert not kept[outside].any()


def test_an_empty_image_is_placed_without_complaint():
    assert not placed(torch.zeros(40, 40), View((32, 32), (0.8, 0.8)), np.random.default_rng(0)).any()
