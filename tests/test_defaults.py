"""Every default that the documents state, in one table: a number that moves by accident fails here.

Settings of networks are listed in full, so a new field fails until its default is written down. Of recipes and data
the fields are listed that decide numbers.
"""

import inspect
from pathlib import Path

import pytest

from somamba.data.catalog import DATASETS
from somamba.data.config import DataConfig
from somamba.evaluation import metrics
from somamba.evaluation.leakage import LeakageConfig
from somamba.models.hifi_mamba.config import VARIANTS as HIFI
from somamba.models.lmo import activation, scanning
from somamba.models.so_mamba import mixer
from somamba.models.unet import SLOPE
from somamba.models.zoo import MODELS
from somamba.physics import consistency, masks, scale
from somamba.physics.coils import maps as coils
from somamba.settings import flat, to_plain
from somamba.training.recipe import Recipe, read_recipe

RECIPES = Path(__file__).parents[1] / "recipes"

NETWORKS = {
    "zero_filled": {},
    "cg_sense": {"iterations": 30, "strength": 0.01, "tolerance": 1e-4},
    # Paper: six groups of two units, d_model 96. Ours: the rest, docs/decisions.
    "so_mamba": {
        "groups": 6, "units": 2, "channels": 192, "patch": 2, "d_model": 96, "coils": 1,
        "routes.router": True, "routes.access": True, "routes.outlet": True, "routes.residency": "none",
        "router.projection": "depthwise", "router.compaction": "average",
        "interface.hidden": 24, "interface.scale": 0.1, "interface.shift": 0.1,
        "interface.learned_strengths": False, "interface.position": "after_norm",
        # Table 7: state 16, head 64, MIMO of rank 4.
        "mixer.d_state": 16, "mixer.d_head": 64, "mixer.expand": 2, "mixer.rank": 4, "mixer.groups": 1,
        "mixer.rope_fraction": 0.5, "mixer.decay": "rational", "mixer.tie_decay": False,
        "mixer.tie_interfaces": False, "mixer.backend": "auto",
        "outlet_ratio": 0, "output_projection": "merged", "residency_mix": "sum", "scan_orders": ["rows"],
        "carry_features": False, "consistency": "auto", "cg_iterations": 100, "cg_tolerance": 1e-6,
        "weighted_samples": False, "recompute": False,
    },
    "unet": {"channels": 32, "pools": 4, "dropout": 0.0, "residual": False, "coils": 1, "mode": "as_published"},
    "ista_net": {"phases": 9, "features": 32, "step": "gradient", "coils": 1},
    "transunet": {
        "width": 64, "units": [3, 4, 9], "norm_groups": 32, "d_model": 768, "d_hidden": 3072, "heads": 12,
        "layers": 12, "positions": 20, "decoder": [512, 256, 128, 64, 16], "dropout": 0.1, "residual": False,
        "coils": 1, "mode": "as_published",
    },
    "reconformer": {
        "coils": 1, "iterations": 5, "channels": [96, 48, 24], "depths": [2, 1, 1], "heads": 6, "window": 8,
        "expansion": 2, "recompute": False,
    },
    "fps_former": {
        "coils": 1, "mode": "+dc", "channels": 48, "blocks": [1, 2, 2, 1], "heads": [1, 2, 4, 8], "window": 8,
        "bands": 3,
    },
    "mamba_unet": {
        "channels": 96, "depths": [2, 2, 2, 2], "patch": 4, "d_state": 16, "drop_path": 0.2, "coils": 1,
        "mode": "as_published", "backend": "auto",
    },
    "lmo": {
        "depth": 16, "channels": 64, "d_state": 16, "feature_dc": "complex", "coils": 1, "backend": "auto",
    },
    "hifi_mamba": {
        "variant": "paper", "split": "haar", "groups": None, "units": 2, "channels": 128, "patch": 2, "d_state": 16,
        "drop_path": 0.3, "dropout": 0.1, "coils": 1, "backend": "auto",
    },
}  # fmt: skip
CLASSICAL = {"l1_wavelet"}  # its settings are tested with it

# What a variant of SO-Mamba changes.
CHANGES = {
    "mamba_regularizer": {"routes.router": False, "routes.access": False, "routes.outlet": False},
    "sor_router": {"routes.access": False, "routes.outlet": False},
    "without_access": {"routes.access": False},
    "without_outlet": {"routes.outlet": False},
    "content_residency": {"routes.residency": "full"},
    "residency_channel": {"routes.residency": "learned_channel"},
    "residency_token": {"routes.residency": "learned_token"},
    "residency_unit": {"routes.residency": "learned_unit"},
    "tied_decay": {"mixer.tie_decay": True},
    "tied_interfaces": {"mixer.tie_interfaces": True},
}

# Table 6 of the paper, and torch's defaults where it is silent.
TRAINING = {
    "model": "so_mamba", "loss": "l1", "epochs": 100, "batch_size": 8, "bf16": False, "seed": 0,
    "validate_every": 1.0, "optimiser.learning_rate": 8e-4, "optimiser.betas": [0.9, 0.999],
    "optimiser.weight_decay": 0.01, "optimiser.warmup_epochs": 5.0, "optimiser.final_rate": 0.0,
    "optimiser.clip_norm": 1.0, "optimiser.max_skips": 10,
}  # fmt: skip

DATA = {
    "dataset": "acdc", "protocol": "magnitude", "acceleration": 4, "mask": None, "masks": None, "size": None,
    "validation": "carved",
    "seed": 0, "combine": "coils", "n_coils": 8, "snr": None, "phase_axis": "x", "augmentation": None,
}  # fmt: skip

# Size, how it is reached, mask, margin and number of central slices.
IMAGES = {
    "fastmri": ((320, 320), "crop", "equispaced", 0, 20),
    "fastmri_multicoil": (None, "crop", "equispaced", 0, None),
    "cc359": ((256, 256), "crop", "equispaced", 30, None),
    "cc359_multicoil": (None, "crop", "equispaced", 50, None),
    "acdc": ((128, 128), "crop", "golden-radial", 0, None),
    "m4raw": ((256, 256), "crop", "equispaced", 0, None),
    "prostate158": ((224, 224), "resize", "random", 0, None),
    "brain_t1w": ((224, 224), "resize", "equispaced", 0, 80),
}

CONSTANTS = {
    "centre of column masks, times the acceleration": (masks.CENTER_SHARE, 0.32),
    "offsets of the paper's masks": (masks.PAPER_OFFSETS, {(320, 4): 0, (320, 8): 5, (256, 4): 4, (256, 8): 5}),
    "golden angle": (masks.GOLDEN_ANGLE, 111.246117975),
    "strength of the proximal step": (consistency.STRENGTH, 0.05),
    "a proximal step in use": (consistency.SOLVED, (40, 1e-4)),
    "brightness that is one": (scale.BRIGHT, 0.99),
    "decay floor of Mamba-3": (mixer.A_FLOOR, 1e-4),
    "epsilon of the norms of B and C": (mixer.NORM_EPS, 1e-5),
    "window of SSIM": (metrics.WINDOW, 7),
    "slope of the U-Net": (SLOPE, 0.2),
    "slope and gain of LMO": ((activation.SLOPE, activation.GAIN**2), (0.2, pytest.approx(2))),
    "LMO's Mamba": ((scanning.DIRECTIONS, scanning.EXPAND, scanning.FILTER), (2, 2, 4)),
    "HiFi-Mamba": ({n: tuple(parts) for n, parts in HIFI.items()}, {"paper": (6, 6, False), "release": (8, 5, True)}),
}

DEFAULT_ARGUMENTS = {
    coils.espirit: {
        "calibration_width": 24, "kernel": 6, "threshold": 0.001**0.5, "crop": 0.8, "iterations": 30,
    },
    consistency.proximal: {"iterations": 100, "tolerance": 1e-6},
    consistency.SoftConsistency.__init__: {"weight": 0.9},
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_the_settings_of_a_network(name):
    assert flat(to_plain(MODELS[name].config)) == NETWORKS[name]


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_variant_changes(name):
    assert flat(to_plain(MODELS[name].config)) == NETWORKS["so_mamba"] | CHANGES[name]


def test_no_network_is_left_out():
    assert {*NETWORKS, *CHANGES, *CLASSICAL, "so_mamba_adaptive"} >= set(MODELS)


def listed(values, table):
    return {name: values.get(name, "no such field") for name in table}


def test_the_settings_of_a_training():
    values = flat(to_plain(Recipe(network=MODELS["so_mamba"].config)))
    assert listed(values, TRAINING) == TRAINING


def test_the_settings_of_data():
    assert listed(to_plain(DataConfig()), DATA) == DATA


@pytest.mark.parametrize("name", IMAGES)
def test_the_images_of_a_dataset(name):
    entry = DATASETS[name]
    assert (entry.size, entry.fit, entry.mask, entry.slices.margin, entry.slices.central) == IMAGES[name]


def test_the_leakage_diagnostic():
    config = LeakageConfig()
    assert (config.cutoffs, config.radius) == ((0.25, 0.35), "corner")


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant(name):
    found, documented = CONSTANTS[name]
    assert found == documented


@pytest.mark.parametrize("function", DEFAULT_ARGUMENTS, ids=lambda function: function.__qualname__)
def test_the_defaults_of_a_function(function):
    found = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    assert listed(found, DEFAULT_ARGUMENTS[function]) == DEFAULT_ARGUMENTS[function]


PAPER = {
    "fastmri": {}, "cc359": {}, "acdc": {}, "prostate158": {},
    "m4raw": {"data.protocol": "raw", "data.masks": "fixed", "network.coils": 4},
}  # fmt: skip


@pytest.mark.parametrize("dataset", PAPER)
@pytest.mark.parametrize("acceleration", [4, 8])
def test_the_recipes_of_the_paper(dataset, acceleration):
    values = flat(to_plain(read_recipe(RECIPES / f"{dataset}_x{acceleration}.yaml")))
    wanted = TRAINING | {f"data.{name}": value for name, value in DATA.items()}
    wanted |= {f"network.{name}": value for name, value in NETWORKS["so_mamba"].items()}
    wanted |= {"data.dataset": dataset, "data.acceleration": acceleration, **PAPER[dataset]}
    assert listed(values, wanted) == wanted


@pytest.mark.parametrize("acceleration", [4, 8])
def test_the_recipes_for_two_cores(acceleration):
    recipe = read_recipe(RECIPES / f"acdc_cpu_x{acceleration}.yaml")
    assert (recipe.data.acceleration, recipe.epochs, recipe.batch_size) == (acceleration, 3, 2)
    assert (recipe.optimiser.learning_rate, recipe.optimiser.warmup_epochs) == (8e-4, 0.15)
    assert flat(to_plain(recipe.network)) == NETWORKS["so_mamba"]
