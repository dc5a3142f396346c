"""The Triton scan gives the float64 definition, in Triton's interpreter on the CPU: ``TRITON_INTERPRET=1``."""

import os

import pytest
import torch

from promises import relative_error
from scan.made import GOLDEN, agrees, cotangent_of, differentiate, forget_single_turn, golden_case, random_arguments, to
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference

pytest.importorskip("triton", reason="triton is not installed: .ci/triton makes an environment for these tests")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("TRITON_INTERPRET=1 is not set", allow_module_level=True)

from somamba.scan.backends import BACKENDS, Request, choose
from somamba.scan.gpu import function
from somamba.scan.gpu.function import scan_triton
from somamba.scan.gpu.sizes import tiles_for

TOLERANCE = 1e-5
PAPER = {"heads": 3, "p": 64, "n": 16, "rank": 4, "angles": 4}
DECAYS = ("normal", "strong", "near_zero", "constant_3e-8")
SHAPES = [
    {"n": 8, "angles": 2, "p": 5, "rank": 1, "batch": 3},
    {"n": 12, "angles": 3, "p": 16, "rank": 2, "groups": 2},
    {"n": 20, "angles": 10, "p": 40, "rank": 3, "heads": 4, "groups": 2},
    {"n": 7, "angles": 3, "p": 64, "rank": 5, "heads": 1},
    {"n": 16, "angles": 0, "p": 16, "rank": 4},
    {"n": 33, "angles": 1, "p": 17, "rank": 4, "heads": 1, "batch": 2},
    {"n": 1, "angles": 0, "p": 3, "rank": 1, "heads": 1},
]


def compare(arguments, cotangent=None, oracle=None):
    cotangent = cotangent_of(arguments) if cotangent is None else cotangent
    oracle = oracle or differentiate(scan_reference, arguments, cotangent)
    result = differentiate(scan_triton, to(arguments, torch.float32), cotangent)
    if arguments["x"].shape[1] == 1:
        forget_single_turn(result, oracle, TOLERANCE)
    agrees(result, oracle, out=TOLERANCE, gradient=TOLERANCE)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_output_and_gradients(name):
    arguments, cotangent, oracle = golden_case(name)
    compare(arguments, cotangent, oracle)


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("tokens", [1, 16, 35])
def test_equal_to_the_reference_at_every_length_and_decay(tokens, decay):
    compare(random_arguments(tokens=tokens, decay=decay, **PAPER | {"heads": 1}))


@pytest.mark.parametrize("seed", range(3))
def test_under_strong_decay_it_knows_the_angles_better_than_float32_does_by_the_definition(seed):
    """Almost nothing but a token's own read-out is left, and to that its angle does not matter: two terms cancel."""
    arguments = random_arguments(tokens=16, decay="strong", seed=seed, **PAPER | {"heads": 1})
    cotangent = cotangent_of(arguments)
    exact = differentiate(scan_reference, arguments, cotangent)["angles"]
    plain, found = (
        relative_error(differentiate(run, to(arguments, torch.float32), cotangent)["angles"], exact)
        for run in (scan_reference, scan_triton)
    )
    assert found < TOLERANCE < plain


def test_the_angle_of_a_lone_token_has_no_gradient_at_all():
    arguments = to(random_arguments(tokens=1, **PAPER), torch.float32)
    assert not differentiate(scan_triton, arguments, cotangent_of(arguments))["angles"].any()


@pytest.mark.parametrize("sizes", SHAPES, ids=lambda sizes: "-".join(f"{name}{size}" for name, size in sizes.items()))
def test_equal_to_the_reference_in_every_shape(sizes):
    compare(random_arguments(tokens=19, **sizes))


def test_the_tiles_of_devices_without_tensor_cores_are_right_too(monkeypatch):
    monkeypatch.setattr(function, "tiles_for", lambda rank, n, p, _architecture: tiles_for(rank, n, p, 75))
    compare(random_arguments(tokens=19, **PAPER | {"heads": 1}))


@pytest.mark.parametrize("tokens", [1, 20])
def test_states_are_those_of_the_reference(tokens):
    arguments = random_arguments(tokens=tokens, batch=2, **PAPER | {"p": 20})
    exact = scan_reference(ScanInputs(**arguments), keep_states=True).states
    states = scan_triton(ScanInputs(**to(arguments, torch.float32)), keep_states=True).states
    assert relative_error(states, exact) < TOLERANCE


def test_results_repeat_bit_by_bit():
    arguments = to(random_arguments(tokens=19, batch=2), torch.float32)
    first, second = (differentiate(scan_triton, arguments, cotangent_of(arguments)) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_gradients_are_the_slopes_of_the_kernels_themselves():
    arguments = to(random_arguments(tokens=3, heads=1, p=2, n=2, rank=1, angles=1), torch.float32)
    cotangent = cotangent_of(arguments)
    gradients = differentiate(scan_triton, arguments, cotangent)
    step = 1e-2
    for name, value in arguments.items():
        direction = torch.randn(value.shape, generator=torch.Generator().manual_seed(3))
        ahead, behind = (
            scan_triton(ScanInputs(**arguments | {name: value + sign * step * direction})).readout.double()
            for sign in (1, -1)
        )
        slope = ((ahead - behind) * cotangent).sum() / (2 * step)
        assert float(slope) == pytest.approx(float((gradients[name] * direction).sum()), rel=2e-2, abs=2e-3), name


def test_it_passes_its_test_scan_and_can_be_asked_for_by_name():
    assert choose("triton", Request()) is BACKENDS["triton"]
    assert BACKENDS.parity("triton", "cpu", None, ()).gradient < TOLERANCE
