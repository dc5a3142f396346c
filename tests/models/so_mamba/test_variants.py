"""The ablations of the paper differ from the default in what their names say, and in nothing else."""

from dataclasses import replace

import pytest

from somamba.models.so_mamba.config import MixerConfig, Routes, SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.models.so_mamba.variants import VARIANTS


def test_the_rows_of_the_ablation_tables_are_there():
    assert list(VARIANTS) == [
        "so_mamba", "mamba_regularizer", "sor_router", "without_access", "without_outlet", "content_residency",
        "residency_channel", "residency_token", "residency_unit", "so_mamba_adaptive", "tied_decay", "tied_interfaces",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "routes"),
    [
        ("so_mamba", (True, True, True, False)),
        ("mamba_regularizer", (False, False, False, False)),
        ("sor_router", (True, False, False, False)),
        ("without_access", (True, False, True, False)),
        ("without_outlet", (True, True, False, False)),
        ("content_residency", (True, True, True, True)),
    ],
)
def test_an_ownership_ablation_changes_the_routes_alone(name, routes):
    router, access, outlet, residency = routes
    switched = Routes(router=router, access=access, outlet=outlet, residency="full" if residency else "none")
    assert VARIANTS[name] == replace(SOMambaConfig(), routes=switched)


@pytest.mark.parametrize("kind", ["channel", "token", "unit"])
def test_learned_residency_changes_one_route(kind):
    assert VARIANTS[f"residency_{kind}"] == replace(SOMambaConfig(), routes=Routes(residency=f"learned_{kind}"))


@pytest.mark.parametrize(("name", "tied"), [("tied_decay", "tie_decay"), ("tied_interfaces", "tie_interfaces")])
def test_a_tying_check_changes_one_switch_of_the_mixer(name, tied):
    assert VARIANTS[name] == replace(SOMambaConfig(), mixer=MixerConfig(**{tied: True}))


def parameters(config):
    return sum(parameter.numel() for parameter in SOMamba(replace(config, groups=1)).parameters())


def test_what_is_switched_off_costs_no_parameters():
    count = {name: parameters(config) for name, config in VARIANTS.items()}
    d_model, width, units = 96, 64, 2
    access = 2 * d_model + (d_model + 1) * 24 + (24 + 1) * 4 * width
    outlet = 10 * d_model + (d_model + 1) * d_model + d_model * 192
    assert count["so_mamba"] - count["without_access"] == units * access
    assert count["so_mamba"] - count["without_outlet"] == units * outlet
    assert count["so_mamba"] == count["content_residency"]
    for kind, gates in {"channel": d_model, "token": d_model + 1, "unit": 1}.items():
        assert count[f"residency_{kind}"] - count["so_mamba"] == units * gates
    assert count["so_mamba"] - count["tied_decay"] == units * d_model * 3
    assert count["so_mamba"] - count["tied_interfaces"] == units * d_model * width
    assert count["sor_router"] < min(count["without_access"], count["without_outlet"])
