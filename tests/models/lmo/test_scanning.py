"""Scanning: Mamba both ways, each with its own filter and weights, gated by itself and by the neighbourhood."""

import torch
import torch.nn.functional as F

from models.small import perturb
from somamba.models.lmo.scanning import BidirectionalMamba, Scanning


def test_mamba_runs_forwards_and_backwards_and_both_are_gated(rng):
    mamba = perturb(BidirectionalMamba(4, 2, "auto")).double()
    grid = torch.randn(2, 3, 5, 4, dtype=torch.float64, generator=rng)
    content, gate = (grid @ mamba.in_proj.weight.mT).flatten(1, 2).chunk(2, dim=-1)
    filtered = []
    for way, tokens in enumerate((content, content.flip(1))):
        padded = F.pad(tokens, (0, 0, 3, 0))
        taps = mamba.filter.weight[8 * way : 8 * (way + 1), 0]
        mixed = sum(padded[:, k : k + 15] * taps[:, k] for k in range(4))
        filtered.append(F.silu(mixed + mamba.filter.bias[8 * way : 8 * (way + 1)]))
    forward, backward = mamba.selective(torch.cat(filtered, dim=-1)).chunk(2, dim=-1)
    expected = (forward + backward.flip(1)) * F.silu(gate)
    torch.testing.assert_close(mamba(grid), expected.unflatten(1, (3, 5)))


def test_scanning_multiplies_what_is_far_by_what_is_near(rng):
    scanning = perturb(Scanning(4, 2, "auto"))
    features = torch.randn(1, 4, 5, 6, generator=rng)
    grid = features.permute(0, 2, 3, 1)
    near = scanning.local(scanning.norm_local(grid).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    expected = scanning.out_proj(scanning.mamba(scanning.norm(grid)) * F.silu(near)).permute(0, 3, 1, 2)
    torch.testing.assert_close(scanning(features), expected)
