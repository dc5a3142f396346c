"""The compiled selective scan gives the float64 definition to float32 precision, in every shape, layout and machine."""

from functools import cache

import pytest
import torch

from native.machine import INSTRUCTION_SETS, needs_native
from scan.made import agrees, to
from scan.promises import (
    NANS,
    SELECTIVE,
    gives_the_states_of_the_definition,
    is_accepted_by_pytorch,
    nan_of,
    refuses_a_loss_on_the_states,
    repeats_bit_by_bit,
    runs_in_several_threads_at_once,
)
from scan.selective.made import DECAYS, SHAPES, cotangent_of, differentiate, random_arguments
from somamba.scan.selective.chunked import selective_chunked
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.native import selective_native
from somamba.scan.selective.reference import selective_reference

pytestmark = needs_native

OUT, GRADIENT = 2e-5, 1e-4
USUAL = {"channels": 128, "n": 16}


def name_of(sizes):
    return "-".join(f"{name}{size}" for name, size in sizes.items())


def compare(arguments, *, oracle=None, of_oracle=selective_reference):
    cotangent = cotangent_of(arguments)
    oracle = oracle or differentiate(of_oracle, arguments, cotangent)
    agrees(differentiate(selective_native, to(arguments, torch.float32), cotangent), oracle, out=OUT, gradient=GRADIENT)


@cache
def expected(**sizes):
    """Arguments and what float64 makes of them; several tests ask the kernel the same question."""
    arguments = random_arguments(**sizes)
    return arguments, differentiate(selective_reference, arguments, cotangent_of(arguments))


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("tokens", [1, 2, 31, 32, 33, 63, 64, 65])
def test_equal_to_the_reference_at_every_length(tokens, decay):
    compare(random_arguments(tokens=tokens, decay=decay, channels=20, n=16))


# `chunked` in float64 is the oracle here; test_chunked.py holds it to the reference.
@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("tokens", [1000, 25600])
def test_precision_lasts_for_a_whole_image(tokens, decay):
    arguments = random_arguments(tokens=tokens, decay=decay, channels=3, n=4)
    compare(arguments, of_oracle=lambda inputs: selective_chunked(inputs, chunk=1024))


@pytest.mark.parametrize("sizes", SHAPES, ids=name_of)
@pytest.mark.parametrize("tokens", [1, 35])
def test_equal_to_the_reference_in_every_shape(sizes, tokens):
    compare(random_arguments(tokens=tokens, **sizes))


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("sizes", [USUAL, *SHAPES[4:8]], ids=name_of)
def test_every_instruction_set_is_right(name, sizes, instruction_set):
    instruction_set(name)
    arguments, oracle = expected(tokens=70, **sizes)
    compare(arguments, oracle=oracle)


# With 3 or 7 threads, groups are begun by one thread and ended by another.
@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("sizes", [USUAL, SHAPES[3], SHAPES[7]], ids=name_of)
def test_any_number_of_threads_is_right(count, sizes, threads):
    threads(count)
    arguments, oracle = expected(tokens=70, **sizes)
    compare(arguments, oracle=oracle)


def test_equal_thread_counts_repeat_bit_by_bit(threads):
    threads(3)
    repeats_bit_by_bit(SELECTIVE, selective_native, random_arguments(tokens=70, batch=2, **USUAL))


@pytest.mark.parametrize("sizes", [USUAL, *SHAPES[4:8]], ids=name_of)
def test_states_are_those_of_the_reference(sizes):
    gives_the_states_of_the_definition(SELECTIVE, selective_native, random_arguments(tokens=45, **sizes))


def test_a_loss_on_the_states_is_refused_rather_than_ignored():
    refuses_a_loss_on_the_states(SELECTIVE, selective_native)


@pytest.mark.parametrize("kind", NANS)
@pytest.mark.parametrize("name", INSTRUCTION_SETS)
@pytest.mark.parametrize("poisoned", ["u", "dt", "A", "B", "C", "D"])
def test_nan_stays_nan(name, poisoned, kind, instruction_set):
    instruction_set(name)
    arguments = to(random_arguments(tokens=40, channels=20), torch.float32)
    whole = selective_native(SelectiveInputs(**arguments)).readout
    arguments[poisoned][..., -1] = nan_of(kind)
    readout = selective_native(SelectiveInputs(**arguments)).readout
    assert whole.isfinite().all()
    assert readout[0, -1, -1].isnan()


@pytest.mark.parametrize("rate", [-5.0, -20.0, -50.0])
def test_even_the_gradient_of_a_state_that_forgets_at_once_is_right(rate):
    """It is exp(dt A) times something; a decay rounded to ``1 - 1`` would leave nothing of it."""
    arguments = random_arguments(tokens=40)
    arguments["dt"] = torch.ones_like(arguments["dt"])
    arguments["A"] = torch.full_like(arguments["A"], rate)
    compare(arguments)


def test_decay_beyond_float32_is_a_plain_zero():
    arguments = random_arguments(tokens=40)
    arguments["dt"] = arguments["dt"] + 1
    arguments["A"] = torch.full_like(arguments["A"], -1e4)
    cotangent = cotangent_of(arguments)
    oracle = differentiate(selective_reference, arguments, cotangent)
    result = differentiate(selective_native, to(arguments, torch.float32), cotangent)
    assert result.pop("A").abs().max() < 1e-30
    assert not oracle.pop("A").any()
    agrees(result, oracle, out=OUT, gradient=GRADIENT)


def test_a_step_of_zero_changes_nothing():
    arguments = to(random_arguments(tokens=40), torch.float32)
    arguments["dt"][:, 10:] = 0
    states = selective_native(SelectiveInputs(**arguments), keep_states=True).states
    assert states[:, 9].any()
    assert torch.equal(states[:, 10:], states[:, 9:10].expand_as(states[:, 10:]))


def test_pytorch_accepts_the_operator():
    is_accepted_by_pytorch(SELECTIVE, torch.ops.somamba.selective_scan)


def test_calls_from_several_threads_do_not_disturb_each_other(threads):
    runs_in_several_threads_at_once(SELECTIVE, selective_native, threads, USUAL)
