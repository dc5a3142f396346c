"""What every backend of every scan promises, written once and asked of both recurrences."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import pytest
import torch
from torch.library import opcheck

from promises import relative_error
from scan import made
from scan.made import Arguments, agrees, exchange, to
from scan.selective import made as selective
from somamba.errors import InputError, UnknownNameError
from somamba.scan import backends
from somamba.scan.choice import Backends, Request
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference
from somamba.scan.selective import backends as selective_backends
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.reference import selective_reference

OUT, GRADIENT = 2e-5, 1e-4
"""How far float32 may be from the definition in float64."""


@dataclass(frozen=True)
class Recurrence:
    """One kind of scan: its table of backends, its definition, and arguments for it."""

    table: Backends
    scan: Callable[..., Any]
    definition: Callable[..., Any]
    record: type
    arguments: Callable[..., Arguments]
    content: str
    """Name of the argument that holds the content."""
    sizes: dict[str, int]
    """Sizes with several groups and slices of a batch."""

    def inputs(self, arguments: Arguments) -> Any:
        """The record that a backend takes."""
        return self.record(**arguments)

    def small(self) -> Arguments:
        """Arguments in float32."""
        return to(self.arguments(tokens=40, **self.sizes), torch.float32)

    def results(self, run: Callable[..., Any], arguments: Arguments) -> Arguments:
        """The read-out and all gradients."""
        cotangent = made.cotangent_of(arguments, like=self.content)
        return made.differentiate(run, arguments, cotangent, record=self.record)


MAMBA3 = Recurrence(
    backends.BACKENDS, backends.scan, scan_reference, ScanInputs, made.random_arguments, "x",
    {"batch": 2, "heads": 4, "groups": 2, "n": 12, "p": 20},
)  # fmt: skip
SELECTIVE = Recurrence(
    selective_backends.BACKENDS, selective_backends.selective_scan, selective_reference, SelectiveInputs,
    selective.random_arguments, "u", {"batch": 2, "channels": 40, "groups": 2, "n": 12},
)  # fmt: skip
RUNS_HERE = ("native", "chunked", "reference")


def equals_the_definition_in_value_and_every_gradient(of: Recurrence, backend: str) -> None:
    arguments = of.arguments(tokens=40, **of.sizes)
    oracle = of.results(of.definition, arguments)
    run = partial(of.scan, backend=backend)
    for keep_states in (False, True):
        found = of.results(partial(run, keep_states=keep_states), to(arguments, torch.float32))
        agrees(found, oracle, out=OUT, gradient=GRADIENT)


def gives_the_states_of_the_definition_if_asked(of: Recurrence, backend: str) -> None:
    arguments = of.arguments(tokens=40, **of.sizes)
    exact = of.definition(of.inputs(arguments), keep_states=True)
    inputs = of.inputs(to(arguments, torch.float32))
    assert relative_error(of.scan(inputs, backend=backend, keep_states=True).states, exact.states) < OUT
    assert of.scan(inputs, backend=backend).states is None


def keeps_its_precision_under_autocast(of: Recurrence, backend: str) -> None:
    inputs = of.inputs(of.small())
    exact = of.scan(inputs, backend=backend).readout
    with torch.autocast("cpu", torch.bfloat16):
        under = of.scan(inputs, backend=backend).readout
    assert under.dtype == torch.float32
    assert relative_error(under, exact.double()) < 1e-6


def in_larger_memory(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers as a slice along every axis of a tensor full of NaN."""
    room = torch.full([2 * size + 3 for size in tensor.shape], torch.nan, dtype=tensor.dtype)
    view = room[tuple(slice(1, 2 * size, 2) for size in tensor.shape[:-1])][..., 2 : 2 + tensor.shape[-1]]
    view.copy_(tensor)
    return view


def reads_slices_of_larger_tensors_and_turned_ones(of: Recurrence, backend: str) -> None:
    arguments, run = of.small(), partial(of.scan, backend=backend)
    spread = {name: in_larger_memory(tensor) for name, tensor in arguments.items()}
    turned = {name: tensor.mT.contiguous().mT if tensor.ndim > 1 else tensor for name, tensor in arguments.items()}
    assert not spread[of.content].is_contiguous()
    assert turned["B"].stride(-1) != 1
    dense = of.results(run, arguments)
    for strange in (of.results(run, spread), of.results(run, turned)):
        agrees(strange, {name: tensor.double() for name, tensor in dense.items()}, out=1e-6, gradient=1e-5)


def takes_a_gradient_that_is_not_contiguous(of: Recurrence, backend: str) -> None:
    arguments = of.small()
    content = arguments[of.content].requires_grad_()
    cotangent = made.cotangent_of(arguments, like=of.content).float()
    gradients = []
    for given in (cotangent, cotangent.mT.contiguous().mT, torch.ones(()).expand(cotangent.shape)):
        readout = of.scan(of.inputs(arguments), backend=backend).readout
        gradients += torch.autograd.grad(readout, content, given)
    torch.testing.assert_close(gradients[0], gradients[1])
    assert gradients[2].isfinite().all()


def does_not_make_infinite_content_finite(of: Recurrence, backend: str) -> None:
    arguments = of.small()
    arguments[of.content][0, 3] = torch.inf
    assert not of.scan(of.inputs(arguments), backend=backend).readout[0, 3].isfinite().any()


def keeps_its_precision_for_tiny_and_large_content(of: Recurrence, backend: str) -> None:
    for scale in (1e-30, 1e15):
        arguments = of.arguments(tokens=40, **of.sizes)
        arguments[of.content] = (arguments[of.content] * scale).float().double()
        oracle = of.definition(of.inputs(arguments)).readout
        found = of.scan(of.inputs(to(arguments, torch.float32)), backend=backend).readout
        assert relative_error(found, oracle) < OUT


def keeps_its_precision_for_steps_of_very_different_size(of: Recurrence, backend: str) -> None:
    arguments = of.arguments(tokens=70)
    rng = torch.Generator().manual_seed(2)
    exponents = 5 * torch.rand(arguments["dt"].shape, generator=rng, dtype=torch.float64) - 4
    arguments["dt"] = (10**exponents).float().double()
    found = of.results(partial(of.scan, backend=backend), to(arguments, torch.float32))
    agrees(found, of.results(of.definition, arguments), out=OUT, gradient=GRADIENT)


def gives_the_same_in_inference_mode_and_a_second_time(of: Recurrence, backend: str) -> None:
    inputs = of.inputs(of.small())
    first = of.scan(inputs, backend=backend).readout
    assert torch.equal(of.scan(inputs, backend=backend).readout, first)
    with torch.inference_mode():
        assert torch.equal(of.scan(inputs, backend=backend).readout, first)


def gives_gradients_only_if_asked(of: Recurrence, backend: str) -> None:
    arguments = of.small()
    arguments["dt"].requires_grad_()
    of.scan(of.inputs(arguments), backend=backend).readout.sum().backward()
    assert arguments["dt"].grad.any()
    assert all(tensor.grad is None for name, tensor in arguments.items() if name != "dt")


def changes_no_argument(of: Recurrence, backend: str) -> None:
    arguments = of.small()
    before = {name: tensor.clone() for name, tensor in arguments.items()}
    of.results(partial(of.scan, backend=backend), arguments)
    assert all(torch.equal(arguments[name], before[name]) for name in before)


PROMISES = (
    equals_the_definition_in_value_and_every_gradient,
    gives_the_states_of_the_definition_if_asked,
    keeps_its_precision_under_autocast,
    reads_slices_of_larger_tensors_and_turned_ones,
    takes_a_gradient_that_is_not_contiguous,
    does_not_make_infinite_content_finite,
    keeps_its_precision_for_tiny_and_large_content,
    keeps_its_precision_for_steps_of_very_different_size,
    gives_the_same_in_inference_mode_and_a_second_time,
    gives_gradients_only_if_asked,
    changes_no_argument,
)
every_promise = pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)


def skip_unless_it_runs(of: Recurrence, backend: str) -> None:
    """Leave out what this machine cannot run."""
    if reason := of.table[backend].why_not(Request()):
        pytest.skip(f"{backend}: {reason}")


def refuses_arguments_that_do_not_fit_before_any_backend_runs(of: Recurrence) -> None:
    for backend in of.table:
        inputs = exchange(of.inputs(of.small()), D=torch.ones(7))
        with pytest.raises(InputError, match="D must be"):
            of.scan(inputs, backend=backend)


def suggests_a_name_for_an_unknown_backend(of: Recurrence) -> None:
    with pytest.raises(UnknownNameError, match=rf"No {of.table.kind} is named 'nativ'\. Did you mean 'native'\?"):
        of.scan(of.inputs(of.small()), backend="nativ")


def names_every_argument_in_the_order_of_its_fields(of: Recurrence) -> None:
    arguments = of.small()
    names = [field.name for field in fields(of.record)]
    assert list(arguments) == names
    assert all(a is b for a, b in zip(of.inputs(arguments).tensors(), arguments.values(), strict=True))


def refusal(of: Recurrence, **changes: torch.Tensor) -> str:
    """The message for good arguments with these ones exchanged."""
    inputs = exchange(of.inputs(of.arguments()), **changes)
    with pytest.raises(InputError) as caught:
        inputs.check()
    return str(caught.value)


def refuses_an_argument_of_another_type(of: Recurrence) -> None:
    for name, tensor in of.arguments().items():
        message = refusal(of, **{name: tensor.float()})
        assert "float32" in message
        assert "float64" in message


def refuses_types_that_it_cannot_run_in(of: Recurrence) -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.int64, torch.complex64):
        message = refusal(of, **to(of.arguments(), dtype))
        assert str(dtype) in message
        assert ".float()" in message


def names_an_argument_on_another_device(of: Recurrence) -> None:
    message = refusal(of, D=torch.empty_like(of.arguments()["D"], device="meta"))
    assert "D is on meta" in message
    assert f"{of.content} on cpu" in message


REFUSALS = (
    refuses_an_argument_of_another_type,
    refuses_types_that_it_cannot_run_in,
    names_an_argument_on_another_device,
)


def repeats_bit_by_bit(of: Recurrence, run: Callable[..., Any], arguments: Arguments) -> None:
    first, second = (of.results(run, to(arguments, torch.float32)) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def gives_the_states_of_the_definition(of: Recurrence, run: Callable[..., Any], arguments: Arguments) -> None:
    oracle = of.definition(of.inputs(arguments), keep_states=True)
    inputs = of.inputs(to(arguments, torch.float32))
    result = run(inputs, keep_states=True)
    assert relative_error(result.states, oracle.states) < OUT
    assert relative_error(result.readout, oracle.readout) < OUT
    assert run(inputs).states is None


def refuses_a_loss_on_the_states(of: Recurrence, run: Callable[..., Any]) -> None:
    arguments = to(of.arguments(), torch.float32)
    arguments[of.content].requires_grad_()
    states = run(of.inputs(arguments), keep_states=True).states
    with pytest.raises(RuntimeError, match="does not require grad"):
        states.sum().backward()


NANS = {"quiet": 0x7FC00000, "negative": 0xFFC00000 - 2**32, "with payload": 0x7FC12345, "all ones": 0x7FFFFFFF}


def nan_of(kind: str) -> torch.Tensor:
    """A NaN of given bits: exponentials are put together from integers, where a NaN is a number like others."""
    nan = torch.tensor(NANS[kind], dtype=torch.int32).view(torch.float32)
    assert nan.isnan()
    return nan


def is_accepted_by_pytorch(of: Recurrence, operator: Any) -> None:
    """The checks of ``torch.library``, with and without gradients and states."""
    arguments = to(of.arguments(tokens=40), torch.float32)
    given = (*arguments.values(), False, False)
    checks = ("test_schema", "test_faketensor")
    opcheck(operator, given, test_utils=checks)
    opcheck(operator, (*given[:-2], True, True), test_utils=checks)
    leaves = tuple(tensor.requires_grad_() for tensor in arguments.values())
    opcheck(operator, (*leaves, False, True), test_utils=(*checks, "test_autograd_registration"))


def runs_in_several_threads_at_once(
    of: Recurrence, run: Callable[..., Any], threads: Callable[[int], None], sizes: dict[str, int]
) -> None:
    arguments = [to(of.arguments(tokens=100, seed=seed, **sizes), torch.float32) for seed in range(4)]

    def results(given: Arguments) -> Arguments:
        threads(2)  # a new thread starts with PyTorch's default
        return of.results(run, given)

    one_by_one = [results(given) for given in arguments]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(results, arguments))
    for first, second in zip(one_by_one, together, strict=True):
        assert all(torch.equal(first[name], second[name]) for name in first)
