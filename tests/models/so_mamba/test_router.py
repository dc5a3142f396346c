"""The router keeps the ownership contract of Sec. 2.2."""

import pytest
import torch
import torch.nn.functional as F

from models.small import perturb
from somamba.models.so_mamba.router import BinomialCarrier, Router

SIZES = [(3, 3), (4, 4), (16, 16), (15, 18), (18, 15), (7, 3), (3, 8), (33, 9)]


def by_definition(grid, compaction="average"):
    """Eqs. 10-12: reflect padding, [1, 4, 6, 4, 1] / 16 along both axes, halve, bilinear to the exact size."""
    channels = grid.shape[-1]
    row = (torch.tensor([1, 4, 6, 4, 1], dtype=grid.dtype) / 16).expand(channels, 1, 1, 5)
    u = grid.permute(0, 3, 1, 2)
    u = F.conv2d(F.pad(u, (2, 2, 0, 0), mode="reflect"), row, groups=channels)
    u = F.conv2d(F.pad(u, (0, 0, 2, 2), mode="reflect"), row.mT, groups=channels)
    u = F.avg_pool2d(u, 2) if compaction == "average" else u[:, :, ::2, ::2]
    return F.interpolate(u, size=grid.shape[1:3], mode="bilinear", align_corners=False).permute(0, 2, 3, 1)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("compaction", ["average", "stride"])
def test_the_carrier_is_its_definition(size, compaction, rng):
    grid = torch.randn(2, *size, 3, dtype=torch.float64, generator=rng)
    carrier = BinomialCarrier(compaction).double()(grid)
    torch.testing.assert_close(carrier, by_definition(grid, compaction), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_carrier_keeps_constants(size):
    grid = torch.full((1, *size, 2), 3.0)
    torch.testing.assert_close(BinomialCarrier()(grid), grid)


def board(height, width):
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return ((-1.0) ** (y + x)).expand(1, 1, height, width).permute(0, 2, 3, 1)


@pytest.mark.parametrize("size", [(16, 16), (15, 18), (7, 7)], ids=str)
@pytest.mark.parametrize("compaction", ["average", "stride"])
def test_the_carrier_removes_the_checkerboard(size, compaction):
    assert BinomialCarrier(compaction)(board(*size)).abs().max() < 1e-6


def test_the_average_keeps_a_ramp_in_place_and_the_stride_shifts_it():
    ramp = torch.arange(32.0).expand(1, 32, 32).unsqueeze(-1)
    inside = (slice(None), slice(8, 24), slice(8, 24))
    torch.testing.assert_close(BinomialCarrier()(ramp)[inside], ramp[inside])
    torch.testing.assert_close(BinomialCarrier("stride")(ramp)[inside], ramp[inside] - 0.5)


def test_the_carrier_learns_and_stores_nothing():
    carrier = BinomialCarrier()
    assert not list(carrier.parameters())
    assert not carrier.state_dict()


@pytest.mark.parametrize("projection", ["depthwise", "pointwise"])
@pytest.mark.parametrize("compaction", ["average", "stride"])
def test_nothing_is_lost(projection, compaction, rng):
    router = perturb(Router(8, 6, projection, compaction)).double()
    features = torch.randn(2, 7, 9, 8, dtype=torch.float64, generator=rng)
    carrier, evidence = router(features)
    assert carrier.shape == evidence.shape == (2, 7, 9, 6)
    pool_carrier, pool_evidence = router.filter(features).chunk(2, dim=-1)
    candidates = router.to_carrier(pool_carrier) + router.to_evidence(pool_evidence)
    torch.testing.assert_close(carrier + evidence, candidates, rtol=0, atol=1e-12)
    torch.testing.assert_close(carrier, by_definition(router.to_carrier(pool_carrier), compaction), rtol=0, atol=1e-12)


@pytest.mark.parametrize("projection", ["depthwise", "pointwise"])
def test_the_carrier_does_not_see_the_evidence_pool(projection, rng):
    features = torch.randn(1, 7, 9, 8, generator=rng, requires_grad=True)
    router = perturb(Router(8, 6, projection, "average"))
    (of_carrier,) = torch.autograd.grad(router(features).carrier.square().sum(), features)
    assert of_carrier[..., :4].any()
    assert not of_carrier[..., 4:].any()
    (of_evidence,) = torch.autograd.grad(router(features).evidence.square().sum(), features)
    assert of_evidence[..., :4].any()  # what the carrier rejects
    assert of_evidence[..., 4:].any()


def test_the_pools_are_projected_separately():
    router = Router(8, 6, "depthwise", "average")
    assert router.to_carrier.weight is not router.to_evidence.weight
    assert router.to_carrier.weight.shape == router.to_evidence.weight.shape == (6, 4)
