"""Leakage of fields whose spectra are known, of a scan worked out by hand, and of networks on data."""

import math
import weakref
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from evaluation.uneven import uneven_slices
from models.small import SMALL, measure, perturb
from scan.made import random_arguments, to
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices
from somamba.errors import ConfigError, InputError
from somamba.evaluation import trace
from somamba.evaluation.cost.memory import added_megabytes, in_child
from somamba.evaluation.leakage import (
    LeakageConfig,
    leakage,
    leakage_records,
    measure_leakage,
    outer_band,
    trace_leakage,
)
from somamba.evaluation.trace import ScanTrace, record_scans
from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.models.zoo import build
from somamba.physics.sampling_mask import SamplingMask
from somamba.results.leakage import by_cutoff
from somamba.results.setting import Provenance, Setting, Subject
from somamba.runtime.processes import Processes
from somamba.scan.backends import BACKENDS, Request, scan
from somamba.scan.inputs import ScanInputs

# `compiled` takes seconds for each new shape, and its numbers are compared in tests/scan/test_backends.py.
SUPPLIERS = [
    name for name in BACKENDS if name != "compiled" and BACKENDS[name].why_not(Request(keep_states=True)) is None
]
ABOUT = Provenance(
    subject=Subject(method="so_mamba", epochs=0.0, seed=0, parameters=1, weights=""),
    setting=Setting(dataset="acdc", split="val", protocol="magnitude", mask="golden-radial", acceleration=4.0),
    cases=2,
    split_cases=2,
    command="-",
)


def field(rows, columns, frequency):
    """A real wave of so many periods along each side, as one channel."""
    y, x = torch.meshgrid(torch.arange(rows) / rows, torch.arange(columns) / columns, indexing="ij")
    return torch.cos(2 * math.pi * (frequency[0] * y + frequency[1] * x) + 0.3)[None, ..., None]


def leak(grid, cutoff, radius="corner"):
    return float(leakage([grid], [cutoff], radius=radius)[0, 0])


@pytest.mark.parametrize("size", [(16, 16), (15, 18), (7, 5)], ids=str)
def test_a_constant_leaks_nothing(size):
    assert leak(torch.full((1, *size, 3), 7.0), 0.0) < 1e-12


@pytest.mark.parametrize("size", [(16, 16), (6, 10)], ids=str)
def test_a_checkerboard_leaks_all_of_itself_at_every_cutoff(size):
    y, x = torch.meshgrid(*(torch.arange(n) for n in size), indexing="ij")
    board = ((-1.0) ** (y + x))[None, ..., None]
    assert leak(board, 0.999) == pytest.approx(1, abs=1e-6)
    assert leak(board + 1, 0.5) == pytest.approx(0.5, abs=1e-6)


# Of a grid of 40 x 40 the corner is at 20 sqrt(2): a radius of 0.25 is 7.07 steps, one of 0.35 is 9.9.
@pytest.mark.parametrize(("cutoff", "inside", "outside"), [(0.25, (7, 1), (6, 4)), (0.35, (7, 7), (10, 0))])
def test_a_wave_leaks_if_and_only_if_it_lies_outside(cutoff, inside, outside):
    for signs in product((1, -1), repeat=2):
        near, far = ([s * f for s, f in zip(signs, wave, strict=True)] for wave in (inside, outside))
        assert leak(field(40, 40, near), cutoff) < 1e-6
        assert leak(field(40, 40, far), cutoff) > 1 - 1e-6


@pytest.mark.parametrize(("cutoff", "steps"), [(0.25, 20), (0.35, 28), (0.1, 8), (0.7, 56)])
def test_a_frequency_on_the_cutoff_lies_inside(cutoff, steps):
    # 160 x 160: the corner is (80, 80), and (steps, steps) is at the cutoff exactly, but not in floating point.
    band = outer_band((160, 160), cutoff)
    for y, x in product((80 - steps, 80 + steps), repeat=2):
        assert not band[y, x]
    assert band[80 + steps, 81 + steps]


@pytest.mark.parametrize("size", [(160, 160), (15, 18), (5, 4)], ids=str)
@pytest.mark.parametrize("radius", ["corner", "side"])
def test_a_frequency_and_its_negative_are_on_one_side(size, radius):
    rows, columns = (torch.arange(n) - n // 2 for n in size)
    band = outer_band(size, 0.35, radius)
    mirrored = band[(-rows + size[0] // 2) % size[0]][:, (-columns + size[1] // 2) % size[1]]
    assert torch.equal(band, mirrored)


def test_the_corner_is_at_one_and_so_is_the_middle_of_the_side():
    assert outer_band((16, 16), 0.999).sum() == 1
    assert not outer_band((16, 16), 0.9999, "side")[8, 1:].any()
    assert outer_band((16, 16), 0.9999, "side")[8, 0]


@pytest.mark.parametrize(("radius", "share"), [("corner", 0.5), ("side", 0.25)])
@pytest.mark.parametrize("cutoff", [0.25, 0.35])
def test_white_noise_leaks_the_area_outside(cutoff, radius, share, rng):
    noise = torch.randn(1, 64, 64, 128, generator=rng)
    assert leak(noise, cutoff, radius) == pytest.approx(1 - share * math.pi * cutoff**2, abs=4e-3)
    assert leak(noise, cutoff, radius) == pytest.approx(
        float(outer_band((64, 64), cutoff, radius).double().mean()), abs=1e-3
    )


def test_channels_count_by_their_energy():
    waves = torch.cat([field(16, 16, (0, 0)) * 2, field(16, 16, (7, 7))], dim=-1)
    constant, fast = (float(c.square().sum()) for c in waves.unbind(-1))
    assert leak(waves, 0.5) == pytest.approx(fast / (fast + constant), rel=1e-6)
    parts = leakage(waves.split(1, dim=-1), [0.5])
    assert float(parts) == pytest.approx(leak(waves, 0.5), rel=1e-12)


def test_leakage_does_not_depend_on_the_scale(rng):
    noise = torch.randn(1, 9, 12, 5, generator=rng)
    assert leak(1e-3 * noise, 0.3) == pytest.approx(leak(1e3 * noise, 0.3), rel=1e-5)


def test_each_slice_of_a_batch_has_its_own_leakage(rng):
    grid = torch.randn(3, 9, 12, 5, generator=rng)
    both = leakage([grid], [0.3, 0.6])
    assert both.shape == (3, 2)
    for i in range(3):
        torch.testing.assert_close(both[i : i + 1], leakage([grid[i : i + 1]], [0.3, 0.6]))


def test_a_field_of_zeros_leaks_zero():
    assert leak(torch.zeros(1, 8, 8, 2), 0.25) == 0.0


def test_a_field_without_channels_is_refused():
    with pytest.raises(InputError, match="without channels"):
        leakage([], [0.25])


@pytest.mark.parametrize("backend", SUPPLIERS)
def test_one_part_of_the_states_is_gone_before_the_next_is_made(backend, monkeypatch):
    made = []

    def watched(*arguments, **options):
        assert not [storage for storage in made if storage() is not None]
        output = scan(*arguments, **options)
        made.append(weakref.ref(output.states.untyped_storage()))
        return output

    monkeypatch.setattr(trace, "scan", watched)
    inputs = ScanInputs(**to(random_arguments(tokens=20), torch.float32))
    states = ScanTrace(0, (4, 5), "rows", inputs, inputs.x).state_grids(lanes=2, backend=backend)
    leakage(states, [0.25])
    assert len(made) == 8


def hand_made():
    """Four tokens on a 2 x 2 grid, one state each; decay 1/2, step 1, mixing 1/2, B and C are 1, the gate SiLU(1)."""
    ones = {"C": (1, 4, 1, 1, 1), "B": (1, 4, 1, 1, 1), "x": (1, 4, 1, 1), "z": (1, 4, 1, 1)}
    ones |= dict.fromkeys(("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o"), (1, 1, 1)) | {"D": (1,)}
    ones |= dict.fromkeys(("dt", "adt", "trap"), (1, 4, 1))
    arguments = {name: torch.ones(shape) for name, shape in ones.items()} | {"angles": torch.zeros(1, 4, 1, 0)}
    arguments |= {name: torch.zeros_like(arguments[name]) for name in ("C_bias", "B_bias", "trap")}
    arguments["adt"] = torch.full((1, 4, 1), -math.log(2))
    arguments["x"] = torch.tensor([4.0, 0.0, 0.0, 8.0]).reshape(1, 4, 1, 1)
    return ScanInputs(**arguments)


@pytest.mark.parametrize("backend", SUPPLIERS)
def test_a_scan_by_hand(backend):
    inputs = hand_made()
    by_hand = ScanTrace(0, (2, 2), "rows", inputs, scan(inputs, backend=backend).readout)
    # h = h'/2 + x'/4 + x/2 for the state h' and the content x' before: 2; 1 + 1; 1; 1/2 + 4.
    h = [2.0, 2.0, 1.0, 4.5]
    assert torch.cat(list(by_hand.state_grids(backend=backend))).flatten().tolist() == pytest.approx(h)
    # S is h + x through the gate. On 2 x 2 the frequencies are at rho 0, 0.71 twice, and 1.
    s = [6.0, 2.0, 1.0, 12.5]
    config = LeakageConfig(cutoffs=(0.5, 0.8), backend=backend)
    found = trace_leakage(by_hand, config)[0]
    for level, v in enumerate((h, s)):
        energy = sum(value**2 for value in v)
        assert float(found[0, level]) == pytest.approx(1 - sum(v) ** 2 / 4 / energy, rel=1e-5)
        assert float(found[1, level]) == pytest.approx((v[0] - v[1] - v[2] + v[3]) ** 2 / 4 / energy, rel=1e-5)


def network_leakage(config, model, y, A):
    """Of every unit: units, batch, cutoffs, levels."""
    values = []
    with torch.no_grad(), record_scans(model, lambda trace: values.append(trace_leakage(trace, config))):
        model(y, A)
    return torch.stack(values)


@pytest.mark.parametrize("backend", SUPPLIERS)
@pytest.mark.parametrize("lanes", [1, 3, 8, 64])
def test_neither_the_backend_nor_the_block_size_changes_the_numbers(backend, lanes):
    model = perturb(SOMamba(SMALL)).eval()
    y, A = measure((18, 22), batch=2)
    found = network_leakage(LeakageConfig(backend=backend, lanes=lanes), model, y, A)
    right = network_leakage(LeakageConfig(backend="reference", lanes=5), model.double(), y.to(torch.complex128), A)
    assert right.shape == (2, 2, 2, 2)
    assert (found - right).abs().max() < 1e-5
    assert right.min() > 0


def large_slice():
    """Megabytes that the leakage of one unit on a 320x320 slice adds to this process, a fresh one."""
    model = perturb(SOMamba(SOMambaConfig(groups=1, units=1))).eval()
    measured, config = [measure((size, size)) for size in (32, 320)], LeakageConfig()
    network_leakage(config, model, *measured[0])  # libraries load what they need
    return added_megabytes(lambda: network_leakage(config, model, *measured[1]))


def test_at_320_by_320_the_states_of_a_unit_are_never_held():
    # They are 315 MB. Without them 220 MB were seen (245 without compiled kernels), with them 500.
    assert in_child("from evaluation.test_leakage import large_slice; print(large_slice())", threads=2) < 400


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cutoffs": ()}, "one or more"),
        ({"cutoffs": (0.25, 0.25)}, "different cutoffs"),
        ({"cutoffs": (1.0,)}, "below 1; got 1.0"),
        ({"cutoffs": (-0.1,)}, "at least 0"),
        ({"cutoffs": (math.nan,)}, "got nan"),
        ({"lanes": 0}, "lanes=0 .* at least 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        LeakageConfig(**wrong)


@pytest.fixture(scope="module")
def slices(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 1}, slices=3)
    return open_slices(DataConfig(path=str(folder / "acdc"), cache=str(folder / "cache"), size=(16, 20)), "val")


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return perturb(SOMamba(SMALL)).eval()


def test_a_case_is_the_mean_of_its_slices_for_every_unit(slices, model):
    config, steps = LeakageConfig(), []
    results = measure_leakage(model, slices, config, on_progress=lambda *step: steps.append(step))
    assert steps == [(done, 12) for done in range(1, 13)]
    assert [result.case for result in results] == ["patient001", "patient004"]
    for number, result in enumerate(results):
        batch = slices.batch(range(3 * number, 3 * number + 3))
        wanted = network_leakage(config, model, batch.y, batch.A).mean(dim=1)
        np.testing.assert_allclose(np.array(result.units), wanted.numpy(), rtol=1e-5)


class Recorder(Processes):
    """Two processes in one: adds what the first would send to what the second has."""

    def total(self, values):
        """The sum, from the second process on."""
        BOARD.setdefault(values.dtype, []).append(values.clone())
        return sum(BOARD[values.dtype])


BOARD = {}


def test_two_processes_give_the_numbers_of_one(slices, model):
    wanted = measure_leakage(model, slices, LeakageConfig())
    BOARD.clear()
    with pytest.raises(InputError, match="not at all"):
        measure_leakage(model, slices, LeakageConfig(), processes=Recorder(0, 2))
    assert measure_leakage(model, slices, LeakageConfig(), processes=Recorder(1, 2)) == wanted


def test_rows_name_case_unit_and_cutoff(slices, model):
    config = LeakageConfig(cutoffs=(0.25, 0.35), radius="side")
    results = measure_leakage(model, slices, config)
    rows = leakage_records(results, slices, config, ABOUT)
    found = [(row.case, row.unit, row.cutoff) for row in rows]
    assert found == list(product(["patient001", "patient004"], [1, 2], [0.25, 0.35]))
    assert {(row.units, row.cases, row.slices, row.radius) for row in rows} == {(2, 2, 3, "side")}
    mask = slices.batch([0]).mask[0, 0]
    assert {(row.sampled.mask_digest, row.sampled.realised_acceleration) for row in rows} == {
        (SamplingMask(mask, "x", 1).digest, mask.numel() / int(mask.sum()))
    }
    assert (rows[3].hleak, rows[3].rleak) == results[0].units[1][1]
    assert rows[3].eta == pytest.approx(rows[3].rleak / rows[3].hleak)
    with pytest.raises(InputError, match="missing: patient004"):
        leakage_records(results[:1], slices, config, ABOUT)


def test_slices_are_averaged_within_a_case_and_cases_after_that(tmp_path, model):
    slices, config = uneven_slices(tmp_path), LeakageConfig(cutoffs=(0.25,))
    single = []
    for index in range(len(slices)):
        batch, values = slices.batch([index]), []
        with torch.no_grad(), record_scans(model, lambda trace, values=values: values.append(trace)):
            model(batch.y, batch.A)
        single.append(np.mean([trace_leakage(trace, config)[0, 0, 1] for trace in values]))
    found = by_cutoff(leakage_records(measure_leakage(model, slices, config), slices, config, ABOUT))[0.25].rleak
    means = [np.mean(single[:5]), np.mean(single[5:])]
    assert found == pytest.approx((np.mean(means), np.std(means)), rel=1e-5)
    assert abs(np.mean(single) / np.mean(means) - 1) > 1e-3  # the mean over slices is another number


def test_a_state_that_is_not_finite_is_named(slices):
    spoilt = SOMamba(SMALL).eval()
    with torch.no_grad():
        spoilt.groups[0].units[0].block.mixer.mimo_x.fill_(math.inf)
    with pytest.raises(InputError, match=r"Case 'patient001', slice 0: a state or read-out"):
        measure_leakage(spoilt, slices, LeakageConfig())


def test_a_state_of_zeros_leaks_nothing_and_eta_is_finite(slices):
    silent = SOMamba(replace(SMALL, groups=1)).eval()
    with torch.no_grad():
        silent.groups[0].units[0].block.mixer.mimo_x.zero_()
    config = LeakageConfig()
    rows = leakage_records(measure_leakage(silent, slices, config), slices, config, ABOUT)
    assert {(row.hleak, row.rleak, row.eta) for row in rows} == {(0.0, 0.0, 0.0)}


def test_a_network_without_units_is_refused(slices):
    with pytest.raises(InputError, match="no SO-Mamba unit"):
        measure_leakage(build("zero_filled"), slices, LeakageConfig())
