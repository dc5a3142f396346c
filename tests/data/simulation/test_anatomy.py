"""Drawn anatomies keep the brain, surround it, and repeat by seed."""

import numpy as np
import pytest
import torch

from somamba.data.simulation.anatomy import contrast, depth_below, head, place, vary
from somamba.data.simulation.scanner import generator

Y, X = torch.meshgrid(torch.linspace(-1, 1, 64), torch.linspace(-1, 1, 56), indexing="ij")
BRAIN = torch.where((Y / 0.6) ** 2 + (X / 0.5) ** 2 < 1, 500 + 300 * torch.cos(9 * X), 0.0)


def test_an_anatomy_repeats_by_its_seed_and_differs_from_others():
    one, again, other = (vary(BRAIN, seed=seed, scalp=1) for seed in (1, 1, 2))
    assert torch.equal(one.image, again.image)
    assert torch.equal(one.support, again.support)
    assert not torch.equal(one.image, other.image)


@pytest.mark.parametrize("scalp", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_but_a_faint_rim_lies_outside_of_the_support(seed, scalp):
    anatomy = vary(BRAIN, seed=seed, scalp=scalp)
    outside = anatomy.image.abs()[~anatomy.support]
    assert 0 < len(outside) < BRAIN.numel()
    assert outside.max() <= 0.06 * anatomy.image.abs().max()


def test_a_head_is_larger_than_its_brain():
    with_head, without = (vary(BRAIN, seed=3, scalp=scalp).image.abs() for scalp in (1, 0))
    bright = without.max()
    assert (with_head > 0.05 * bright).sum() > 1.1 * (without > 0.05 * bright).sum()
    brain = without > 0.5 * bright
    assert torch.equal(with_head[brain] >= without[brain], torch.ones_like(without[brain], dtype=torch.bool))


def test_only_the_head_has_a_phase_of_its_own():
    assert not vary(BRAIN, seed=3, scalp=0).image.imag.any()
    assert vary(BRAIN, seed=3, scalp=1).image.imag.any()


def test_the_background_stays_dark_in_every_contrast():
    for seed in range(5):
        other = contrast(BRAIN, generator(seed))
        assert not other[BRAIN == 0].any()
        assert other.min() >= 0


def test_a_placed_brain_keeps_its_brightness():
    placed = place(BRAIN, generator(2))
    assert placed.min() >= 0
    assert float(placed.max()) == pytest.approx(float(BRAIN.max()), rel=0.15)


def test_the_whole_brain_lies_within_depth_zero():
    depth = depth_below(BRAIN > 0, generator(0))
    assert depth[BRAIN > 0].max() <= 0
    assert depth[0, 0] > 0.2


def test_an_empty_slice_is_no_reason_to_fail():
    assert torch.isfinite(vary(torch.zeros(32, 32), seed=0, scalp=0.5).image.abs()).all()


def test_skull_is_dark_between_brain_and_scalp():
    depth = torch.linspace(-0.2, 0.6, 400).expand(8, 400).contiguous()
    layers, skin = head(depth, generator(5))
    beyond = layers[:, depth[0] > skin + 0.02]
    scalp = layers[:, (depth[0] > skin - 0.03) & (depth[0] < skin - 0.01)]
    assert not beyond.any()
    assert scalp.mean() > 0.3
    assert np.isclose(float(layers.min()), 0)
