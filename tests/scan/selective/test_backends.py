"""The selective scan chooses its backend by the scheme of the Mamba-3 scan, from a table of its own."""

from dataclasses import replace

import pytest
import torch

from native.machine import forget_choices, needs_native
from scan.made import relative_error, to
from scan.selective.made import random_arguments
from somamba.errors import BackendError, InputError, UnknownNameError
from somamba.scan import conditions
from somamba.scan.choice import Request
from somamba.scan.selective.backends import BACKENDS, selective_scan
from somamba.scan.selective.inputs import SelectiveInputs

RUNS_HERE = ("native", "chunked", "reference")


@pytest.fixture
def inputs():
    return SelectiveInputs(**to(random_arguments(tokens=40, groups=2), torch.float32))


def skip_unless_it_runs(name):
    if reason := BACKENDS[name].why_not(Request()):
        pytest.skip(f"{name}: {reason}")


@needs_native
def test_auto_takes_the_compiled_kernel_on_the_cpu():
    assert BACKENDS.choose("auto", Request()) is BACKENDS["native"]
    assert BACKENDS.choose("auto", Request(keep_states=True)) is BACKENDS["native"]


def test_auto_takes_chunked_for_float64():
    assert BACKENDS.choose("auto", Request(dtype=torch.float64)) is BACKENDS["chunked"]


@pytest.mark.usefixtures("without_native")
def test_auto_takes_chunked_where_the_kernel_is_missing(inputs):
    assert BACKENDS.choose("auto", Request()) is BACKENDS["chunked"]
    assert torch.equal(selective_scan(inputs).readout, selective_scan(inputs, backend="chunked").readout)


def test_auto_takes_the_official_kernel_on_cuda_where_it_is_installed(monkeypatch):
    asked = []
    monkeypatch.setattr(conditions, "installed", lambda module: bool(asked.append(module)) or True)
    monkeypatch.setattr(BACKENDS, "parity", lambda *_request: None)  # there is no device for a test scan
    forget_choices()
    assert BACKENDS.choose("auto", Request(device="cuda")) is BACKENDS["fused"]
    assert BACKENDS.choose("auto", Request(device="cuda", keep_states=True)) is BACKENDS["chunked"]
    assert set(asked) == {"mamba_ssm.ops.selective_scan_interface"}
    forget_choices()


def test_a_backend_asked_for_by_name_runs_or_says_why_not():
    with pytest.raises(BackendError) as caught:
        BACKENDS.choose("native", Request(dtype=torch.float64))
    assert str(caught.value) == (
        "Selective scan backend 'native' cannot run: it computes in float32, not torch.float64. "
        "Use 'auto' to let somamba choose."
    )


def test_an_unknown_backend_gets_a_suggestion(inputs):
    with pytest.raises(UnknownNameError, match=r"No selective scan backend is named 'nativ'\. Did you mean 'native'\?"):
        selective_scan(inputs, backend="nativ")


@pytest.mark.parametrize("name", BACKENDS)
def test_arguments_are_checked_before_any_backend_runs(name, inputs):
    with pytest.raises(InputError, match="D must be"):
        selective_scan(replace(inputs, D=torch.ones(7)), backend=name)


@pytest.mark.parametrize("name", RUNS_HERE)
@pytest.mark.parametrize("keep_states", [False, True])
def test_backends_agree(name, keep_states, inputs):
    skip_unless_it_runs(name)
    double = SelectiveInputs(*(tensor.double() for tensor in inputs.tensors()))
    exact = selective_scan(double, backend="reference", keep_states=True)
    result = selective_scan(inputs, backend=name, keep_states=keep_states)
    assert relative_error(result.readout, exact.readout) < 2e-5
    assert (result.states is not None) == keep_states
    if keep_states:
        assert relative_error(result.states, exact.states) < 2e-5


@pytest.mark.parametrize("name", RUNS_HERE)
def test_autocast_does_not_lower_the_precision(name, inputs):
    skip_unless_it_runs(name)
    exact = selective_scan(inputs, backend=name).readout
    with torch.autocast("cpu", torch.bfloat16):
        under = selective_scan(inputs, backend=name).readout
    assert under.dtype == torch.float32
    assert relative_error(under, exact.double()) < 1e-6


def test_shapes_can_be_asked_for_without_numbers(inputs):
    described = SelectiveInputs(*(tensor.to("meta") for tensor in inputs.tensors()))
    result = selective_scan(described, keep_states=True)
    assert (result.readout.shape, result.states.shape) == ((1, 40, 6), (1, 40, 6, 4))


def test_every_backend_says_what_it_is():
    assert list(BACKENDS) == ["fused", "native", "chunked", "reference"]
    assert all(backend.summary for backend in BACKENDS.values())
