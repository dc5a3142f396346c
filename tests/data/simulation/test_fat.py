"""Fat lies below the skin, is bright, and has a phase of its own; what is deeper or darker is left alone."""

import numpy as np
import pytest
import torch

from somamba.data.simulation.fat import depth_inside, fat_share, with_fat
from somamba.data.simulation.scanner import uneven_phase

Y, X = torch.meshgrid(*(torch.linspace(-1, 1, 160),) * 2, indexing="ij")
RADIUS = torch.hypot(Y, X)


def head():
    """A disc of brain, a dark skull and a bright scalp; the skull is as dark as air."""
    return 0.5 * (RADIUS < 0.7) + 1.0 * ((RADIUS > 0.8) & (RADIUS < 0.9))


def test_depth_counts_from_the_outline_and_holes_do_not_matter():
    depth = depth_inside((head() > 0.1).float())
    assert not depth[RADIUS > 0.93].any()
    assert depth[80, 80] == pytest.approx(1, abs=0.05)
    assert float(depth[80, 24]) == pytest.approx(float((0.9 - RADIUS[80, 24]) / 0.9), abs=0.05)


@pytest.mark.parametrize("seed", range(8))
def test_the_scalp_is_fat_and_the_brain_is_not(seed):
    share = fat_share(head(), np.random.default_rng(seed))
    assert float(share[(RADIUS > 0.865) & (RADIUS < 0.885)].min()) > 0.9
    assert not share[RADIUS < 0.6].any()
    assert 0 <= float(share.min()) <= float(share.max()) <= 1


def test_fat_is_turned_and_as_bright_as_was_drawn():
    image = head()
    found = [with_fat(image, np.random.default_rng(seed)) for seed in range(8)]
    scalp = (RADIUS > 0.865) & (RADIUS < 0.885)
    for one in found:
        torch.testing.assert_close(one[RADIUS < 0.6], image[RADIUS < 0.6].to(torch.complex64))
        assert 0.3 < float(one[scalp].abs().median()) < 4.1
    angles = [float(one[scalp].angle().median()) for one in found]
    assert max(angles) - min(angles) > 2


def test_an_empty_image_has_no_fat():
    assert not with_fat(torch.zeros(40, 30), np.random.default_rng(0)).any()


def test_an_uneven_phase_spreads_as_much_as_is_asked_for():
    spreads = [
        float(uneven_phase((120, 100), (0.2, 0.2), np.random.default_rng(seed)).angle().std()) for seed in range(8)
    ]
    assert np.mean(spreads) == pytest.approx(0.2, rel=0.3)
    assert torch.equal(uneven_phase((12, 10), (0, 0), np.random.default_rng(0)), torch.ones(12, 10).to(torch.complex64))
