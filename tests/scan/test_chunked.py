"""Chunk by chunk gives what token by token gives, in value and gradient."""

import pytest
import torch

from scan.made import (
    GOLDEN,
    agrees,
    cotangent_of,
    differentiate,
    forget_single_turn,
    golden_case,
    random_arguments,
    to,
)
from somamba.scan.chunked import BLOCK, CHUNK, scan_chunked
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference


def compare(arguments, *, tolerance=1e-9, **options):
    cotangent = cotangent_of(arguments)
    oracle = differentiate(scan_reference, arguments, cotangent)
    result = differentiate(lambda inputs: scan_chunked(inputs, **options), arguments, cotangent)
    if arguments["x"].shape[1] == 1:
        forget_single_turn(result, oracle, tolerance)
    agrees(result, oracle, out=tolerance, gradient=tolerance)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_output_and_gradients(name):
    arguments, cotangent, expected = golden_case(name)
    agrees(differentiate(scan_chunked, arguments, cotangent), expected, out=1e-9, gradient=1e-9)


@pytest.mark.parametrize("tokens", [1, CHUNK - 1, CHUNK, CHUNK + 1, 63, 64, 65])
@pytest.mark.parametrize("decay", ["normal", "strong", "near_zero"])
def test_equal_to_the_reference_at_every_length(tokens, decay):
    compare(random_arguments(tokens=tokens, decay=decay))


def test_equal_to_the_reference_over_more_than_one_block():
    compare(random_arguments(tokens=BLOCK + 3, p=3, n=4, angles=1, rank=1, heads=1))


@pytest.mark.parametrize(("chunk", "block"), [(1, 1), (4, 8), (8, 20), (5, 7), (64, 16)])
def test_the_cut_does_not_matter(chunk, block):
    compare(random_arguments(tokens=37), chunk=chunk, block=block)


@pytest.mark.parametrize(
    "sizes",
    [
        {"batch": 3, "heads": 4, "groups": 2, "rank": 3},
        {"n": 7, "angles": 3, "p": 5},
        {"n": 12, "angles": 6, "rank": 1},
        {"n": 4, "angles": 0, "p": 1, "heads": 1},
    ],
)
def test_equal_to_the_reference_in_every_shape(sizes):
    compare(random_arguments(**sizes))


def test_states_are_those_of_the_reference():
    inputs = ScanInputs(**random_arguments(tokens=45, heads=4, groups=2, batch=2))
    ours = scan_chunked(inputs, keep_states=True, block=16)
    torch.testing.assert_close(ours.states, scan_reference(inputs, keep_states=True).states)
    assert scan_chunked(inputs).states is None


def test_gradients_pass_through_the_states():
    arguments = random_arguments(tokens=11, heads=1, p=2)
    arguments["x"].requires_grad_()
    gradients = []
    for run in (scan_chunked, scan_reference):
        states = run(ScanInputs(**arguments), keep_states=True).states
        gradients += torch.autograd.grad(states.square().sum(), arguments["x"])
    torch.testing.assert_close(*gradients)


def test_numerical_derivatives_agree():
    arguments = random_arguments(tokens=5, heads=2, groups=2, p=2, n=4, angles=1, rank=2)
    leaves = tuple(tensor.requires_grad_() for tensor in arguments.values())
    assert torch.autograd.gradcheck(
        lambda *tensors: scan_chunked(ScanInputs(*tensors), chunk=2, block=3).readout, leaves, fast_mode=True
    )


@pytest.mark.parametrize("decay", ["strong", "near_zero"])
def test_float32_keeps_its_precision_over_many_tokens(decay):
    arguments = random_arguments(tokens=3000, heads=1, p=4, n=8, rank=2, decay=decay)
    cotangent = cotangent_of(arguments)
    oracle = differentiate(scan_chunked, arguments, cotangent)
    result = differentiate(scan_chunked, to(arguments, torch.float32), cotangent)
    agrees(result, oracle, out=2e-5, gradient=1e-4, angles=1e-3 if decay == "strong" else None)


def test_nan_stays_nan():
    arguments = random_arguments()
    arguments["x"][0, 9, 1] = torch.nan
    readout = scan_chunked(ScanInputs(**arguments)).readout
    assert readout[0, 9:, 1].isnan().all()
    assert not readout[0, :, 0].isnan().any()
