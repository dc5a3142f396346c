"""The choice of a backend is explicit, or automatic and logged; never silent."""

import logging
import os
import subprocess
import sys
from functools import partial

import pytest
import torch

from native.machine import forget_choices, needs_native
from scan import promises
from scan.made import agrees, cotangent_of, differentiate, random_arguments, to
from somamba.errors import BackendError
from somamba.scan import choice, conditions
from somamba.scan.backends import BACKENDS, Backend, Request, Scan, choose, example, scan
from somamba.scan.choice import Backends
from somamba.scan.conditions import always
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference


@pytest.fixture
def inputs():
    return ScanInputs(**to(random_arguments(tokens=40), torch.float32))


@needs_native
def test_auto_takes_the_compiled_kernel_on_the_cpu():
    assert choose("auto", Request()) is BACKENDS["native"]
    assert choose("auto", Request(keep_states=True)) is BACKENDS["native"]


def test_auto_takes_chunked_for_float64():
    assert choose("auto", Request(dtype=torch.float64)) is BACKENDS["chunked"]


@pytest.mark.usefixtures("without_native")
def test_auto_takes_chunked_where_the_kernel_is_missing(inputs):
    assert choose("auto", Request()) is BACKENDS["chunked"]
    assert torch.equal(scan(inputs).readout, scan(inputs, backend="chunked").readout)


@pytest.fixture
def untested(monkeypatch):
    """Trusts every backend without its test scan: the order of the table can be asked without the device."""
    monkeypatch.setattr(BACKENDS, "parity", lambda *_request: None)


@pytest.mark.usefixtures("untested")
def test_auto_takes_chunked_on_a_device_without_kernels(monkeypatch):
    monkeypatch.setattr(conditions, "installed", lambda _module: False)
    forget_choices()
    assert choose("auto", Request(device="cuda")) is BACKENDS["chunked"]
    forget_choices()


@pytest.mark.usefixtures("untested")
def test_auto_takes_the_own_kernels_on_cuda_then_the_official_one_then_the_compiled_one(monkeypatch):
    monkeypatch.setattr(conditions, "installed", lambda _module: True)
    forget_choices()
    assert choose("auto", Request(device="cuda")) is BACKENDS["triton"]
    assert choose("auto", Request(device="cuda", keep_states=True)) is BACKENDS["triton"]
    too_wide = (4, 256, 64, 4)
    assert choose("auto", Request(device="cuda", sizes=too_wide)) is BACKENDS["fused"]
    assert choose("auto", Request(device="cuda", sizes=too_wide, keep_states=True)) is BACKENDS["compiled"]
    forget_choices()


def test_a_backend_that_fails_its_test_scan_is_refused_by_name_and_passed_over_by_auto():
    def wrong(inputs, *, keep_states):
        output = BACKENDS["chunked"].run(inputs, keep_states=keep_states)
        return output._replace(readout=1.01 * output.readout)

    def broken(_inputs, *, keep_states):
        raise RuntimeError(f"out of shared memory, {keep_states=}")

    table = Backends(
        "scan backend",
        {"off": Backend(wrong, always, ""), "broken": Backend(broken, always, "")} | dict(BACKENDS.items()),
        example=example,
    )
    with pytest.raises(BackendError, match=r"'off' cannot run: its test scan is off by 1\.0e-02 in the output"):
        table.choose("off", Request())
    with pytest.raises(
        BackendError, match=r"'broken' cannot run: its test scan failed: RuntimeError: out of shared memory"
    ):
        table.choose("broken", Request())
    assert table.choose("auto", Request(dtype=torch.float32)).run not in (wrong, broken)


def test_auto_compiles_only_on_cuda(caplog):
    forget_choices()
    with caplog.at_level(logging.INFO, logger=choice.__name__):
        choose("auto", Request(dtype=torch.float64))
    assert "'compiled' (on 'cpu' it is taken by name only)" in caplog.text


def test_the_automatic_choice_is_logged_with_the_reasons(caplog):
    forget_choices()
    with caplog.at_level(logging.INFO, logger=choice.__name__):
        choose("auto", Request(dtype=torch.float64))
    assert "'chunked'" in caplog.text
    assert "not 'triton' (it computes in float32, not torch.float64)" in caplog.text
    assert "not 'fused' (it needs a CUDA device" in caplog.text
    assert "not 'native' (it computes in float32, not torch.float64)" in caplog.text


@pytest.mark.parametrize(
    ("name", "request_", "reason"),
    [
        ("triton", Request(dtype=torch.float64), "it computes in float32, not torch.float64"),
        ("compiled", Request(device="mps"), "it runs on the CPU and on CUDA, the tensors are on 'mps'"),
        ("fused", Request(), "it needs a CUDA device, the tensors are on 'cpu'"),
        ("fused", Request(device="cuda", keep_states=True), "the fused kernel does not hand out the state trajectory"),
        ("fused", Request(device="cuda", dtype=torch.float64), "it takes float32, not torch.float64"),
        ("native", Request(dtype=torch.float64), "it computes in float32, not torch.float64"),
        ("native", Request(device="cuda"), "it runs on the CPU, the tensors are on 'cuda'"),
    ],
)
def test_a_backend_asked_for_by_name_runs_or_says_why_not(name, request_, reason):
    with pytest.raises(BackendError) as caught:
        choose(name, request_)
    assert str(caught.value) == f"Scan backend '{name}' cannot run: {reason}. Use 'auto' to let somamba choose."


def test_the_own_kernels_without_triton_or_a_device_say_so(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(conditions, "installed", lambda _module: False)
    with pytest.raises(BackendError, match="triton is not installed; builds of PyTorch for CUDA bring it"):
        choose("triton", Request(device="cuda"))
    monkeypatch.setattr(conditions, "installed", lambda _module: True)
    with pytest.raises(BackendError, match="it needs a CUDA device, the tensors are on 'cpu'"):
        choose("triton", Request())


def test_the_compiled_backend_needs_a_compiler_on_the_cpu_and_triton_on_cuda(monkeypatch):
    monkeypatch.setattr(conditions.shutil, "which", lambda _name: None)
    with pytest.raises(BackendError, match=r"torch\.compile needs a C\+\+ compiler"):
        choose("compiled", Request())
    monkeypatch.setattr(conditions, "installed", lambda _module: False)
    with pytest.raises(BackendError, match="triton is not installed"):
        choose("compiled", Request(device="cuda"))


def test_the_official_kernel_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(conditions, "installed", lambda _module: False)
    with pytest.raises(BackendError, match=r"pip install 'somamba\[cuda\]'"):
        choose("fused", Request(device="cuda"))


@pytest.mark.usefixtures("without_native")
def test_the_compiled_kernel_asked_for_by_name_does_not_fall_back(inputs):
    with pytest.raises(BackendError, match="'native' cannot run: a test hides them"):
        scan(inputs, backend="native")


# Warnings of torch.compile's own modules are not ours to heed.
@pytest.mark.filterwarnings("ignore")
def test_the_compiled_backend_agrees_with_its_gradients():
    promises.skip_unless_it_runs(promises.MAMBA3, "compiled")
    arguments = random_arguments(tokens=40)
    cotangent = cotangent_of(arguments)
    oracle = differentiate(scan_reference, arguments, cotangent)
    result = differentiate(partial(scan, backend="compiled"), to(arguments, torch.float32), cotangent)
    agrees(result, oracle, out=2e-5, gradient=1e-4)


def test_every_backend_says_what_it_is():
    assert list(BACKENDS) == ["triton", "fused", "native", "compiled", "chunked", "reference"]
    assert all(backend.summary for backend in BACKENDS.values())


# In a process of its own: the kernels are looked for once.
WITHOUT = """
import torch
from dataclasses import replace
from somamba.errors import BackendError
from somamba.models.so_mamba.config import MixerConfig, SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.native import library
from somamba.physics.encoding import encoding
from somamba.scan.backends import BACKENDS, Request, choose

assert library.why_not() == "the environment variable SOMAMBA_NO_NATIVE is set", library.why_not()
assert choose("auto", Request()) is BACKENDS["chunked"]
small = SOMambaConfig(groups=1, units=1, channels=8, d_model=8, mixer=MixerConfig(d_head=8, d_state=8, rank=2))
y = torch.randn(1, 1, 12, 12, dtype=torch.complex64)
network = SOMamba(small)
image = network(y, encoding(torch.ones(12)))
image.abs().sum().backward()
assert image.isfinite().all()
try:
    SOMamba(replace(small, mixer=replace(small.mixer, backend="native")))(y, encoding(torch.ones(12)))
except BackendError as error:
    print(error)
"""


def test_the_environment_can_switch_the_kernels_off_and_everything_still_computes():
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT], env=os.environ | {"SOMAMBA_NO_NATIVE": "1"}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == (
        "Scan backend 'native' cannot run: the environment variable SOMAMBA_NO_NATIVE is set. "
        "Use 'auto' to let somamba choose.\n"
    )


@pytest.mark.parametrize("name", promises.RUNS_HERE)
@promises.every_promise
def test_a_backend_keeps_what_all_promise(promise, name):
    promises.skip_unless_it_runs(promises.MAMBA3, name)
    promise(promises.MAMBA3, name)


def test_the_table_keeps_what_all_promise():
    promises.refuses_arguments_that_do_not_fit_before_any_backend_runs(promises.MAMBA3)
    promises.suggests_a_name_for_an_unknown_backend(promises.MAMBA3)
    promises.names_every_argument_in_the_order_of_its_fields(promises.MAMBA3)


def test_it_runs_the_named_backend_and_learns_nothing():
    inputs = ScanInputs(**to(random_arguments(), torch.float32))
    module = Scan("chunked")
    assert torch.equal(module(inputs), scan(inputs, backend="chunked").readout)
    assert not module.state_dict()
    assert "backend='chunked'" in repr(module)


def test_a_hook_sees_what_goes_in_and_what_comes_out():
    inputs = ScanInputs(**to(random_arguments(), torch.float32))
    module, seen = Scan(), []
    module.register_forward_hook(lambda _module, args, out: seen.append((args[0], out)))
    out = module(inputs)
    assert seen[0][0] is inputs
    assert seen[0][1] is out
