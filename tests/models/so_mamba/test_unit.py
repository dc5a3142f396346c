"""A unit adds to its features what the ownership block makes of their streams."""

from dataclasses import replace

import pytest
import torch

from models.small import SMALL, perturb, shrink
from somamba.models.so_mamba.router import Router
from somamba.models.so_mamba.unit import Unit, Unrouted
from somamba.models.so_mamba.variants import VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
def test_the_residual_is_added_to_the_features_themselves(name, rng):
    unit = perturb(Unit(shrink(VARIANTS[name]), "rows"))
    features = torch.randn(2, 5, 7, SMALL.channels, generator=rng)
    out = unit(features)
    assert out.shape == features.shape
    streams = unit.router(unit.norm(features))
    torch.testing.assert_close(out, features + unit.block(torch.zeros_like(features), *streams))


def test_a_unit_does_not_see_the_scale_of_its_features(rng):
    unit = perturb(Unit(SMALL, "rows"))
    features = 10 * torch.randn(1, 5, 7, SMALL.channels, generator=rng)
    torch.testing.assert_close(unit(features) - features, unit(100 * features) - 100 * features, rtol=1e-2, atol=1e-3)


def test_the_plain_regularizer_has_no_evidence(rng):
    unit = Unit(shrink(VARIANTS["mamba_regularizer"]), "rows")
    assert isinstance(unit.router, Unrouted)
    features = torch.randn(1, 5, 7, SMALL.channels, generator=rng)
    content, evidence = unit.router(features)
    assert evidence is None
    torch.testing.assert_close(content, unit.router.to_content(features))


def test_the_router_is_configured_as_asked():
    unit = Unit(replace(SMALL, router=replace(SMALL.router, projection="pointwise", compaction="stride")), "rows")
    assert isinstance(unit.router, Router)
    assert isinstance(unit.router.filter, torch.nn.Identity)
    assert len(unit.router.project.taps) == 5
    assert len(Unit(SMALL, "rows").router.project.taps) == 6
