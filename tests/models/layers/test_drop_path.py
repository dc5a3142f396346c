"""Stochastic depth drops whole branches, in training only, and keeps their mean."""

import pytest
import torch

from somamba.models.layers.drop_path import DropPath, rising_rates


def test_nothing_is_dropped_in_evaluation(rng):
    branch = torch.randn(8, 2, 3, generator=rng)
    assert DropPath(0.9).eval()(branch).equal(branch)
    assert DropPath(0)(branch).equal(branch)


def test_a_slice_is_dropped_whole_or_scaled_up():
    torch.manual_seed(0)
    kept = DropPath(0.25)(torch.ones(4000, 3, 2)).flatten(1)
    assert kept.unique().tolist() == pytest.approx([0, 4 / 3])
    assert (kept == kept[:, :1]).all()
    assert kept.mean() == pytest.approx(1, abs=0.05)


def test_rates_rise_evenly_from_none():
    assert rising_rates(0.3, 4) == pytest.approx([0, 0.1, 0.2, 0.3])
    assert rising_rates(0.3, 1) == [0]
