"""Every argument reaches the official kernel under its name, with its axes.

The kernel itself needs a GPU. Its place is taken by a function of the same signature that checks what the kernel's own
assertions ask for, and computes with `selective_reference`.
"""

import sys

import pytest
import torch

from scan.made import agrees, stand_in, to
from scan.selective.made import cotangent_of, differentiate, random_arguments
from somamba.errors import BackendError
from somamba.scan.selective.fused import selective_fused
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.reference import selective_reference

MODULE = "mamba_ssm.ops.selective_scan_interface"


def selective_scan_fn(
    u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, return_last_state=False, cu_seqlens=None
):
    """Signature of the official kernel."""
    batch, channels, length = u.shape
    groups, n = B.shape[1:3]
    assert delta.shape == u.shape
    assert A.shape == (channels, n)
    assert B.shape == C.shape == (batch, groups, n, length)
    assert D.shape == (channels,)
    assert channels % groups == 0
    assert n <= 256
    assert all(tensor.stride(-1) == 1 or length == 1 for tensor in (u, delta, B, C))
    assert all(tensor.dtype == torch.float32 for tensor in (u, delta, A, B, C, D))
    assert z is None
    assert delta_bias is None
    assert not delta_softplus
    assert not return_last_state
    assert cu_seqlens is None
    inputs = SelectiveInputs(u.mT, delta.mT, A, B.permute(0, 3, 1, 2), C.permute(0, 3, 1, 2), D)
    inputs.check()
    return selective_reference(inputs).readout.mT


@pytest.fixture
def kernel(monkeypatch):
    stand_in(monkeypatch, MODULE, selective_scan_fn)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("sizes", [{"tokens": 1}, {"tokens": 17, "channels": 12, "n": 5, "groups": 4, "batch": 2}])
def test_numbers_and_gradients_come_back(sizes):
    arguments = random_arguments(**sizes)
    cotangent = cotangent_of(arguments)
    oracle = differentiate(selective_reference, arguments, cotangent)
    agrees(differentiate(selective_fused, to(arguments, torch.float32), cotangent), oracle, out=1e-5, gradient=1e-4)


@pytest.mark.usefixtures("kernel")
def test_more_states_than_the_kernel_holds_are_refused():
    with pytest.raises(BackendError, match="at most 256 states for each channel; got n=257"):
        selective_fused(SelectiveInputs(**to(random_arguments(tokens=2, n=257), torch.float32)))


def test_without_the_package_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mamba_ssm", None)
    with pytest.raises(ImportError, match=r"somamba\[cuda\]"):
        selective_fused(SelectiveInputs(**to(random_arguments(), torch.float32)))
