"""The selective Triton scan gives the float64 definition, in Triton's interpreter on the CPU."""

import os

import pytest
import torch

from promises import relative_error
from scan.made import agrees, to
from scan.selective.made import DECAYS, cotangent_of, differentiate, random_arguments
from somamba.scan.choice import Request
from somamba.scan.selective.backends import BACKENDS
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.reference import selective_reference

pytest.importorskip("triton", reason="triton is not installed: .ci/triton makes an environment for these tests")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("TRITON_INTERPRET=1 is not set", allow_module_level=True)

from somamba.scan.selective.gpu import function, sizes
from somamba.scan.selective.gpu.function import selective_triton

TOLERANCE = 1e-5
SHAPES = (
    {"channels": 1, "n": 1},
    {"channels": 7, "n": 4, "batch": 2},
    {"channels": 28, "n": 7, "groups": 4},
    {"channels": 72, "n": 20, "groups": 2},
    {"channels": 3, "n": 16, "groups": 3},
)


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    """Chunks of four tokens, so that few tokens make several of them: the interpreter takes milliseconds for each."""
    monkeypatch.setattr(function, "FORWARD", 8)
    monkeypatch.setattr(function, "BACKWARD", 4)


def compare(arguments):
    cotangent = cotangent_of(arguments)
    oracle = differentiate(selective_reference, arguments, cotangent)
    result = differentiate(selective_triton, to(arguments, torch.float32), cotangent)
    agrees(result, oracle, out=TOLERANCE, gradient=TOLERANCE)


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("tokens", [1, 8, 19])
def test_equal_to_the_reference_at_every_length_and_decay(tokens, decay):
    compare(random_arguments(tokens=tokens, decay=decay))


@pytest.mark.parametrize("sizes", SHAPES, ids=lambda sizes: "-".join(f"{name}{size}" for name, size in sizes.items()))
def test_equal_to_the_reference_in_every_shape(sizes):
    compare(random_arguments(tokens=5, **sizes))


def test_equal_to_the_reference_with_the_chunks_of_a_device(monkeypatch):
    monkeypatch.setattr(function, "FORWARD", sizes.FORWARD)
    monkeypatch.setattr(function, "BACKWARD", sizes.BACKWARD)
    compare(random_arguments(tokens=70, channels=2))


@pytest.mark.parametrize("rate", [-5.0, -50.0])
def test_even_the_gradient_of_a_state_that_forgets_at_once_is_right(rate):
    arguments = random_arguments(tokens=9)
    arguments["dt"] = torch.ones_like(arguments["dt"])
    arguments["A"] = torch.full_like(arguments["A"], rate)
    compare(arguments)


def test_states_are_those_of_the_reference_and_take_no_gradient():
    arguments = random_arguments(tokens=11, groups=2, batch=2)
    exact = selective_reference(SelectiveInputs(**arguments), keep_states=True).states
    given = to(arguments, torch.float32)
    given["u"].requires_grad_()
    states = selective_triton(SelectiveInputs(**given), keep_states=True).states
    assert relative_error(states, exact) < TOLERANCE
    assert not states.requires_grad
    assert selective_triton(SelectiveInputs(**given)).states is None


def test_results_repeat_bit_by_bit():
    arguments = to(random_arguments(tokens=9, batch=2, groups=2), torch.float32)
    first, second = (differentiate(selective_triton, arguments, cotangent_of(arguments)) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_gradients_are_the_slopes_of_the_kernels_themselves():
    arguments = to(random_arguments(tokens=3, channels=2, n=2), torch.float32)
    cotangent = cotangent_of(arguments)
    gradients = differentiate(selective_triton, arguments, cotangent)
    step = 1e-2
    for name, value in arguments.items():
        direction = torch.randn(value.shape, generator=torch.Generator().manual_seed(3))
        ahead, behind = (
            selective_triton(SelectiveInputs(**arguments | {name: value + sign * step * direction})).readout.double()
            for sign in (1, -1)
        )
        slope = ((ahead - behind) * cotangent).sum() / (2 * step)
        assert float(slope) == pytest.approx(float((gradients[name] * direction).sum()), rel=2e-2, abs=2e-3), name


def test_it_passes_its_test_scan_and_can_be_asked_for_by_name():
    assert BACKENDS.choose("triton", Request()) is BACKENDS["triton"]
    assert BACKENDS.parity("triton", "cpu", None, ()).gradient < TOLERANCE
