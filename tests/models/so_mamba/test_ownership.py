"""Content comes from L alone; G reaches the interfaces and the output, and never the state's content."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from models.definitions import layer_normed
from models.small import SMALL, perturb, shrink
from somamba.models.so_mamba.config import Routes
from somamba.models.so_mamba.interface import Modulation
from somamba.models.so_mamba.ownership import Merge, OwnershipBlock
from somamba.models.so_mamba.unit import Unit
from somamba.models.so_mamba.variants import VARIANTS

POOL = SMALL.channels // 2
LEARNED = ("learned_channel", "learned_token", "learned_unit")


def seen_by_the_scan(config, rng, *, closed=False):
    """Features entering the router, the content tokens u, the scan's B and C, and the output Y of one unit.

    ``closed`` puts the gates of a learned residency back to where they start.
    """
    unit = perturb(Unit(config, "rows"))
    if closed:
        close(unit.block)
    features = torch.randn(2, 5, 7, config.channels, generator=rng, requires_grad=True)
    seen = {}
    unit.block.mixer.register_forward_pre_hook(lambda _module, args: seen.update(u=args[0]))
    unit.block.mixer.scan.register_forward_pre_hook(lambda _module, args: seen.update(B=args[0].B, C=args[0].C))
    seen["Y"] = unit.block(torch.zeros_like(features), *unit.router(features))
    return features, seen


def gradient(value, features):
    """Of a random combination of all values."""
    cotangent = torch.randn(value.shape, generator=torch.Generator().manual_seed(1))
    return torch.autograd.grad(value, features, cotangent, retain_graph=True)[0]


def close(block):
    """Set the gates to the zeros that they start from."""
    with torch.no_grad():
        for parameter in block.residency.parameters():
            parameter.zero_()


def check_contract(config, rng, *, closed=False):
    features, seen = seen_by_the_scan(config, rng, closed=closed)
    of_content = gradient(seen["u"], features)
    assert of_content[..., :POOL].any()
    assert not of_content[..., POOL:].any(), "the evidence pool reaches the content tokens"


KEEPING = ("so_mamba", "sor_router", "without_access", "without_outlet", "tied_decay", "tied_interfaces")


@pytest.mark.parametrize("name", KEEPING)
def test_content_does_not_see_the_evidence_pool(name, rng):
    check_contract(shrink(VARIANTS[name]), rng)


@pytest.mark.parametrize(
    "changes",
    [
        {"router": replace(SMALL.router, projection="pointwise")},
        {"router": replace(SMALL.router, compaction="stride")},
        {"interface": replace(SMALL.interface, position="before_norm")},
        {"output_projection": "separate"},
        {"outlet_ratio": 2},
    ],
    ids=str,
)
def test_no_switch_but_residency_breaks_the_contract(changes, rng):
    check_contract(replace(SMALL, **changes), rng)


@pytest.mark.parametrize("mix", ["sum", "concat"])
def test_the_residency_ablation_fails_the_same_check(mix, rng):
    config = replace(shrink(VARIANTS["content_residency"]), residency_mix=mix)
    with pytest.raises(AssertionError, match="the evidence pool reaches the content tokens"):
        check_contract(config, rng)


@pytest.mark.parametrize("kind", LEARNED)
def test_a_closed_gate_keeps_the_contract_and_an_open_one_breaks_it(kind, rng):
    config = replace(SMALL, routes=Routes(residency=kind))
    check_contract(config, rng, closed=True)
    with pytest.raises(AssertionError, match="the evidence pool reaches the content tokens"):
        check_contract(config, rng)


def test_all_of_the_evidence_is_content_with_full_residency(rng):
    carrier, evidence = torch.randn(2, 1, 5, 7, SMALL.d_model, generator=rng)
    block = perturb(OwnershipBlock(replace(SMALL, routes=Routes(residency="full")), "rows"))
    assert torch.equal(block.content(carrier, evidence), carrier + evidence)
    assert OwnershipBlock(SMALL, "rows").content(carrier, evidence) is carrier


@pytest.mark.usefixtures("without_native")
def test_the_contract_holds_without_compiled_kernels(rng):
    check_contract(SMALL, rng)


def reached(config, rng):
    features, seen = seen_by_the_scan(config, rng)
    return {name for name, value in seen.items() if gradient(value, features)[..., POOL:].any()}


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("so_mamba", {"B", "C", "Y"}),
        ("without_access", {"Y"}),
        ("without_outlet", {"B", "C", "Y"}),
        ("sor_router", set()),
        ("content_residency", {"u", "B", "C", "Y"}),
        ("residency_channel", {"u", "B", "C", "Y"}),
        ("residency_token", {"u", "B", "C", "Y"}),
        ("residency_unit", {"u", "B", "C", "Y"}),
    ],
)
def test_the_evidence_pool_reaches_what_its_routes_say(name, places, rng):
    assert reached(shrink(VARIANTS[name]), rng) == places


def test_access_changes_the_output_through_the_state_alone(rng):
    config = replace(SMALL, routes=Routes(outlet=False))
    block = perturb(OwnershipBlock(config, "rows"))
    carrier, evidence, other = torch.randn(3, 1, 5, 7, SMALL.d_model, generator=rng)
    features = torch.randn(1, 5, 7, SMALL.channels, generator=rng)
    assert not torch.allclose(block(features, carrier, evidence), block(features, carrier, other))
    untrained = OwnershipBlock(config, "rows")
    torch.testing.assert_close(untrained(features, carrier, evidence), untrained(features, carrier, other))


@pytest.mark.parametrize("order", ["rows", "rows_reversed", "columns", "columns_reversed"])
def test_the_order_of_the_scan_only_reorders_the_scan(order, rng):
    """Turning the grid, walking it row by row and turning back is the same as walking it in the other order."""
    config = replace(SMALL, routes=Routes(outlet=False))
    block, plain = (perturb(OwnershipBlock(config, kind)) for kind in (order, "rows"))
    plain.load_state_dict(block.state_dict())
    carrier, evidence = torch.randn(2, 1, 5, 7, SMALL.d_model, generator=rng)
    features = torch.randn(1, 5, 7, SMALL.channels, generator=rng)

    def turn(grid):
        grid = grid.transpose(1, 2) if order.startswith("columns") else grid
        return grid.flip(1, 2) if order.endswith("reversed") else grid

    def turn_back(grid):
        grid = grid.flip(1, 2) if order.endswith("reversed") else grid
        return grid.transpose(1, 2) if order.startswith("columns") else grid

    turned = plain(*(turn(grid) for grid in (features, carrier, evidence)))
    torch.testing.assert_close(block(features, carrier, evidence), turn_back(turned))


def test_the_separate_output_projection_comes_first(rng):
    merged, separate = (
        OwnershipBlock(replace(SMALL, output_projection=kind), "rows") for kind in ("merged", "separate")
    )
    inner = SMALL.mixer.expand * SMALL.d_model
    assert merged.merge.weight.shape == (SMALL.channels, inner + SMALL.d_model)
    assert separate.out_proj.weight.shape == (SMALL.d_model, inner)
    assert separate.merge.weight.shape == (SMALL.channels, 2 * SMALL.d_model)
    carrier, evidence = torch.randn(2, 1, 5, 7, SMALL.d_model, generator=rng)
    features = torch.randn(1, 5, 7, SMALL.channels, generator=rng)
    assert separate(features, carrier, evidence).shape == (1, 5, 7, SMALL.channels)


def merged_by_definition(merge, residual, *parts):
    return residual + F.linear(torch.cat(parts, dim=-1), merge.weight, merge.bias)


def parts_to_merge(rng, dtype=torch.float32):
    """Residual, read-out and refined evidence on a grid of 3 x 4."""
    return [torch.randn(2, 3, 4, width, dtype=dtype, generator=rng) for width in (5, 6, 4)]


def test_merging_is_one_linear_layer_on_both_and_the_residual(rng):
    residual, readout, refined = parts_to_merge(rng)
    both, alone = Merge(6, 4, 5), Merge(6, 0, 5)
    expected = merged_by_definition(both, residual, readout, refined)
    torch.testing.assert_close(both(residual, readout, refined), expected)
    torch.testing.assert_close(alone(residual, readout, None), merged_by_definition(alone, residual, readout))
    turned = (grid.transpose(1, 2).contiguous().transpose(1, 2) for grid in (residual, readout, refined))
    torch.testing.assert_close(both(*turned), expected)


def test_merging_changes_none_of_its_arguments(rng):
    parts = parts_to_merge(rng)
    before = [part.clone() for part in parts]
    Merge(6, 4, 5)(*parts)
    assert all(torch.equal(*pair) for pair in zip(parts, before, strict=True))


def test_gradients_of_the_merge_are_those_of_one_linear_layer(rng):
    merge = Merge(6, 4, 5).double()
    leaves = [part.requires_grad_() for part in parts_to_merge(rng, torch.float64)]
    ours, right = (
        torch.autograd.grad(out.square().sum(), [*leaves, merge.weight, merge.bias])
        for out in (merge(*leaves), merged_by_definition(merge, *leaves))
    )
    for one, other in zip(ours, right, strict=True):
        torch.testing.assert_close(one, other)


def test_merging_under_autocast_stays_close(rng):
    merge, parts = Merge(6, 4, 5), parts_to_merge(rng)
    with torch.autocast("cpu", torch.bfloat16):
        under = merge(*parts)
    torch.testing.assert_close(under.float(), merge(*parts), rtol=2e-2, atol=2e-2)


@torch.no_grad()
@pytest.mark.parametrize("name", ["so_mamba", "content_residency", "without_access", "without_outlet"])
def test_the_block_is_the_output_projection_of_readout_and_refined_evidence(name, rng):
    """``X + W_o([S, NSR(G)])`` written out; the mixer is called with content tokens and modulation made here."""
    block = perturb(OwnershipBlock(shrink(VARIANTS[name]), "rows")).double()
    carrier, evidence = torch.randn(2, 2, 5, 7, SMALL.d_model, dtype=torch.float64, generator=rng)
    features = torch.randn(2, 5, 7, SMALL.channels, dtype=torch.float64, generator=rng)
    content = carrier + evidence if name == "content_residency" else carrier
    u = layer_normed(block.content_norm, content).flatten(1, 2)
    modulation = None
    if block.access is not None:
        hidden = F.silu(F.linear(layer_normed(block.access.norm, evidence), *block.access.reduce[0].parameters()))
        layer = block.access.project
        modulation = Modulation(hidden.flatten(1, 2), layer.weight, layer.bias, *map(torch.tensor, (0.1, 0.1)))
    parts = [block.mixer(u, modulation).unflatten(1, (5, 7))]
    if block.outlet is not None:
        each = block.outlet.filter
        filtered = F.conv2d(evidence.permute(0, 3, 1, 2), each.weight, each.bias, padding=1, groups=SMALL.d_model)
        parts.append(F.linear(F.gelu(filtered).permute(0, 2, 3, 1), *block.outlet.narrow.parameters()))
    expected = merged_by_definition(block.merge, features, *parts)
    torch.testing.assert_close(block(features, carrier, evidence), expected, rtol=1e-6, atol=1e-6)
