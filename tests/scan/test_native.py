"""The compiled scan gives the float64 definition to float32 precision, for every shape, machine and memory layout."""

from functools import cache

import pytest
import torch

from native.machine import INSTRUCTION_SETS, needs_native
from scan.made import GOLDEN, agrees, cotangent_of, differentiate, forget_single_turn, golden_case, random_arguments, to
from scan.promises import (
    MAMBA3,
    NANS,
    gives_the_states_of_the_definition,
    is_accepted_by_pytorch,
    nan_of,
    refuses_a_loss_on_the_states,
    repeats_bit_by_bit,
    runs_in_several_threads_at_once,
)
from somamba.scan.chunked import scan_chunked
from somamba.scan.inputs import ScanInputs
from somamba.scan.native import scan_native
from somamba.scan.reference import scan_reference

pytestmark = needs_native

OUT, GRADIENT, STRONG_ANGLES = 2e-5, 1e-4, 1e-3
PAPER = {"heads": 3, "p": 64, "n": 16, "rank": 4, "angles": 4}
DECAYS = ("normal", "strong", "near_zero", "constant_3e-8")


def compare(arguments, *, oracle=None, strong=False, of_oracle=scan_reference):
    cotangent = cotangent_of(arguments)
    oracle = oracle or differentiate(of_oracle, arguments, cotangent)
    result = differentiate(scan_native, to(arguments, torch.float32), cotangent)
    if arguments["x"].shape[1] == 1:
        forget_single_turn(result, oracle, OUT)
    agrees(result, oracle, out=OUT, gradient=GRADIENT, angles=STRONG_ANGLES if strong else None)


@cache
def expected(**sizes):
    """Arguments and what float64 makes of them; several tests ask the kernel the same question."""
    arguments = random_arguments(**sizes)
    return arguments, differentiate(scan_reference, arguments, cotangent_of(arguments))


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_output_and_gradients(name):
    arguments, cotangent, oracle = golden_case(name)
    agrees(differentiate(scan_native, to(arguments, torch.float32), cotangent), oracle, out=OUT, gradient=GRADIENT)


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 31, 32, 33, 63, 64, 65])
def test_equal_to_the_reference_at_every_length(tokens, decay):
    compare(random_arguments(tokens=tokens, decay=decay, **PAPER), strong=decay == "strong")


# `chunked` in float64 is the oracle here; test_chunked.py holds it to the reference.
@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("tokens", [4096, 25600])
def test_precision_lasts_for_a_whole_image(tokens, decay):
    sizes = PAPER | ({"heads": 2, "p": 20} if tokens == 4096 else {"heads": 1, "p": 16})
    compare(random_arguments(tokens=tokens, decay=decay, **sizes), strong=decay == "strong", of_oracle=scan_chunked)


SHAPES = [
    {"n": 8, "angles": 2, "p": 5, "rank": 1, "batch": 3},
    {"n": 12, "angles": 3, "p": 16, "rank": 2, "groups": 2},
    {"n": 20, "angles": 10, "p": 40, "rank": 3, "heads": 4, "groups": 2, "batch": 2},
    {"n": 7, "angles": 3, "p": 64, "rank": 5, "heads": 3},
    {"n": 7, "angles": 1, "p": 1, "rank": 4, "heads": 1},
    {"n": 16, "angles": 8, "p": 33, "rank": 4, "batch": 2},
    {"n": 16, "angles": 0, "p": 16, "rank": 4},
    {"n": 33, "angles": 1, "p": 17, "rank": 4, "heads": 1, "batch": 2},
    {"n": 1, "angles": 0, "p": 3, "rank": 1, "heads": 1},
]


@pytest.mark.parametrize("sizes", SHAPES, ids=lambda sizes: "-".join(f"{name}{size}" for name, size in sizes.items()))
@pytest.mark.parametrize("tokens", [1, 35])
def test_equal_to_the_reference_in_every_shape(sizes, tokens):
    compare(random_arguments(tokens=tokens, **sizes))


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("sizes", [PAPER, SHAPES[2], SHAPES[3], SHAPES[7]], ids=["paper", "n20", "n7", "n33"])
def test_every_instruction_set_is_right(name, sizes, instruction_set):
    instruction_set(name)
    arguments, oracle = expected(tokens=70, **sizes)
    compare(arguments, oracle=oracle)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("sizes", [PAPER, SHAPES[0], SHAPES[2]], ids=["paper", "n8", "n20"])
def test_any_number_of_threads_is_right(count, sizes, threads):
    threads(count)
    arguments, oracle = expected(tokens=70, **sizes)
    compare(arguments, oracle=oracle)


def test_equal_thread_counts_repeat_bit_by_bit(threads):
    threads(2)
    repeats_bit_by_bit(MAMBA3, scan_native, random_arguments(tokens=70, batch=2, **PAPER))


def test_angles_shared_by_all_heads_need_no_copy():
    arguments = to(random_arguments(tokens=40, heads=3), torch.float32)
    shared = arguments["angles"][:, :, :1].clone().requires_grad_()
    expanded = shared.expand(-1, -1, 3, -1)
    assert expanded.stride(2) == 0
    results = []
    for angles in (expanded, expanded.contiguous()):
        readout = scan_native(ScanInputs(**(arguments | {"angles": angles}))).readout
        results.append((readout.detach(), *torch.autograd.grad(readout.sum(), shared)))
    assert torch.equal(results[0][0], results[1][0])
    torch.testing.assert_close(results[0][1], results[1][1])


@pytest.mark.parametrize("sizes", [PAPER, SHAPES[2], SHAPES[3]], ids=["paper", "n20", "n7"])
def test_states_are_those_of_the_reference(sizes):
    gives_the_states_of_the_definition(MAMBA3, scan_native, random_arguments(tokens=45, **sizes))


def test_a_loss_on_the_states_is_refused_rather_than_ignored():
    refuses_a_loss_on_the_states(MAMBA3, scan_native)


@pytest.mark.parametrize("kind", NANS)
@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("poisoned", ["C", "B", "x", "z", "angles", "dt", "adt", "trap", "mimo_x", "D", "B_bias"])
def test_nan_stays_nan(name, poisoned, kind, instruction_set):
    instruction_set(name)
    arguments = to(random_arguments(tokens=40, p=20, rank=1), torch.float32)
    whole = scan_native(ScanInputs(**arguments)).readout
    arguments[poisoned].flatten(1 if arguments[poisoned].ndim > 3 else 0)[..., -1] = nan_of(kind)
    readout = scan_native(ScanInputs(**arguments)).readout
    assert whole.isfinite().all()
    assert readout[0, -1, -1].isnan().any()


@pytest.mark.parametrize("value", [-200.0, -30.0, 30.0, 200.0])
@pytest.mark.parametrize("saturated", ["z", "trap", "angles"])
def test_saturated_functions_keep_their_precision(saturated, value):
    arguments = random_arguments(tokens=40)
    arguments[saturated][:, ::3] = value
    compare(arguments)


def test_decay_beyond_float32_is_a_plain_zero():
    arguments = random_arguments(tokens=40)
    arguments["adt"] = torch.full_like(arguments["adt"], -1e4)
    compare_without = [name for name in arguments if name not in ("angles", "adt")]
    cotangent = cotangent_of(arguments)
    oracle = differentiate(scan_reference, arguments, cotangent)
    result = differentiate(scan_native, to(arguments, torch.float32), cotangent)
    assert all(tensor.isfinite().all() for tensor in result.values())
    agrees({k: result[k] for k in ("out", *compare_without)}, {k: oracle[k] for k in ("out", *compare_without)},
           out=OUT, gradient=GRADIENT)  # fmt: skip


def test_pytorch_accepts_the_operator():
    is_accepted_by_pytorch(MAMBA3, torch.ops.somamba.mimo_scan)


def test_calls_from_several_threads_do_not_disturb_each_other(threads):
    runs_in_several_threads_at_once(MAMBA3, scan_native, threads, PAPER)
