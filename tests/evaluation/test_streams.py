"""Streams are recorded as the routers made them, and their power is where it belongs."""

import math

import numpy as np
import pytest
import torch

from models.small import perturb, shrink
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices
from somamba.errors import InputError
from somamba.evaluation.streams import picture, radial_power, record
from somamba.inference.weights.trained import Trained
from somamba.models.so_mamba.model import SOMamba
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import build
from somamba.results.setting import Setting

SETTING = Setting(dataset="acdc", split="val", protocol="magnitude", mask="golden-radial", acceleration=4.0)


@pytest.fixture(scope="module")
def slices(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 1}, slices=3)
    return open_slices(DataConfig(path=str(folder / "acdc"), cache=str(folder / "cache"), size=(16, 20)), "val")


def network(name):
    return perturb(SOMamba(shrink(VARIANTS[name], units=2))).eval()


def test_the_streams_of_every_unit_are_those_of_its_router(slices):
    model, seen = network("so_mamba"), []
    for group in model.groups:
        for unit in group.units:
            unit.router.register_forward_hook(lambda _router, _inputs, streams: seen.append(streams))
    found = record(Trained("so_mamba", model, "ab"), slices, 4, setting=SETTING, command="-")
    assert found.units == len(seen) == 2 * len(model.groups)
    for number, (carrier, evidence) in enumerate(seen):
        np.testing.assert_allclose(found.carrier[number], picture(carrier), rtol=1e-6)
        np.testing.assert_allclose(found.evidence[number], picture(evidence), rtol=1e-6)
    assert (found.facts.case, found.facts.slice, found.facts.setting.split) == ("patient004", 1, "val")
    assert found.target.shape == found.reconstruction.shape == (16, 20)
    assert found.carrier.shape[1:] == (8, 10)


def test_recording_changes_no_image_and_leaves_no_hook(slices):
    model = network("so_mamba")
    with torch.no_grad():
        batch = slices.batch([0])
        wanted = model(batch.y, batch.A).abs().clamp(0, 1)[0, 0]
    found = record(Trained("so_mamba", model), slices, 0, setting=SETTING, command="-")
    np.testing.assert_allclose(found.reconstruction, wanted, atol=1e-5)
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("name", ["mamba_regularizer", "sor_router"])
def test_an_ablation_without_evidence_has_a_carrier_only(slices, name):
    found = record(Trained(name, network(name)), slices, 0, setting=SETTING, command="-")
    assert found.evidence is None
    assert found.evidence_power is None
    assert found.carrier.any()


def test_another_network_is_refused(slices):
    with pytest.raises(InputError, match="no SO-Mamba unit"):
        record(Trained("zero_filled", build("zero_filled")), slices, 0, setting=SETTING, command="-")


def test_a_wave_is_in_the_ring_of_its_frequency():
    rows = torch.arange(32, dtype=torch.float32)
    wave = torch.cos(2 * math.pi * 6 * rows / 32)[None, :, None, None].expand(1, 32, 32, 2)
    power = radial_power(wave, 16)
    assert int(power.argmax()) == int(6 / math.hypot(16, 16) * 16)
    assert power.topk(2).values[1] < 1e-6 * power.max()


def test_white_noise_has_the_same_power_in_every_ring(rng):
    noise = torch.randn(1, 64, 64, 256, generator=rng)
    np.testing.assert_allclose(radial_power(noise, 8), 1, rtol=0.05)


def test_a_constant_leaves_no_picture():
    assert picture(torch.full((1, 5, 6, 3), 7.0)).abs().max() < 1e-6
