"""The selective scan chooses its backend by the scheme of the Mamba-3 scan, from a table of its own."""

import pytest
import torch

from native.machine import forget_choices, needs_native
from scan import promises
from scan.made import to
from scan.selective.made import random_arguments
from somamba.errors import BackendError
from somamba.scan import conditions
from somamba.scan.choice import Request
from somamba.scan.selective.backends import BACKENDS, SelectiveScan, selective_scan
from somamba.scan.selective.inputs import SelectiveInputs


@pytest.fixture
def inputs():
    return SelectiveInputs(**to(random_arguments(tokens=40, groups=2), torch.float32))


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
    assert BACKENDS.choose("auto", Request(device="cuda", keep_states=True)) is BACKENDS["triton"]
    assert set(asked) == {"mamba_ssm.ops.selective_scan_interface", "triton"}
    forget_choices()


def test_a_backend_asked_for_by_name_runs_or_says_why_not():
    with pytest.raises(BackendError) as caught:
        BACKENDS.choose("native", Request(dtype=torch.float64))
    assert str(caught.value) == (
        "Selective scan backend 'native' cannot run: it computes in float32, not torch.float64. "
        "Use 'auto' to let somamba choose."
    )


def test_shapes_can_be_asked_for_without_numbers(inputs):
    described = SelectiveInputs(*(tensor.to("meta") for tensor in inputs.tensors()))
    result = selective_scan(described, keep_states=True)
    assert (result.readout.shape, result.states.shape) == ((1, 40, 6), (1, 40, 6, 4))


def test_every_backend_says_what_it_is():
    assert list(BACKENDS) == ["fused", "triton", "native", "chunked", "reference"]
    assert all(backend.summary for backend in BACKENDS.values())


@pytest.mark.parametrize("name", promises.RUNS_HERE)
@promises.every_promise
def test_a_backend_keeps_what_all_promise(promise, name):
    promises.skip_unless_it_runs(promises.SELECTIVE, name)
    promise(promises.SELECTIVE, name)


def test_the_table_keeps_what_all_promise():
    promises.refuses_arguments_that_do_not_fit_before_any_backend_runs(promises.SELECTIVE)
    promises.suggests_a_name_for_an_unknown_backend(promises.SELECTIVE)
    promises.names_every_argument_in_the_order_of_its_fields(promises.SELECTIVE)


def test_it_runs_the_named_backend_and_learns_nothing():
    inputs = SelectiveInputs(**to(random_arguments(), torch.float32))
    module = SelectiveScan("chunked")
    assert torch.equal(module(inputs), selective_scan(inputs, backend="chunked").readout)
    assert not module.state_dict()
    assert "backend='chunked'" in repr(module)


def test_a_hook_sees_what_goes_in_and_what_comes_out():
    inputs = SelectiveInputs(**to(random_arguments(), torch.float32))
    module, seen = SelectiveScan(), []
    module.register_forward_hook(lambda _module, args, out: seen.append((args[0], out)))
    out = module(inputs)
    assert seen[0][0] is inputs
    assert seen[0][1] is out
