"""Every argument reaches the official kernel under its name, with its axes.

The kernel itself needs a GPU. Its place is taken by a function of the same signature that checks what the kernel's own
assertions and its documentation ask for, and computes with `scan_reference`.
"""

import sys
from contextlib import nullcontext

import pytest
import torch

from promises import relative_error
from scan.made import agrees, cotangent_of, differentiate, random_arguments, stand_in, to
from somamba.errors import BackendError
from somamba.scan import conditions
from somamba.scan.backends import BACKENDS
from somamba.scan.choice import Request
from somamba.scan.fused import scan_fused, shared_bytes
from somamba.scan.inputs import ScanInputs
from somamba.scan.reference import scan_reference

MODULE = "mamba_ssm.ops.tilelang.mamba3.mamba3_mimo"


def mamba3_mimo(
    Q, K, V, ADT, DT, Trap, Q_bias, K_bias, MIMO_V, MIMO_Z, MIMO_Out, Angles, D, Z, chunk_size, rotary_dim_divisor,
    dtype, return_state=False, cu_seqlens=None, fuse_pregate_headwise_rms_norm=False, outproj_norm_weight=None,
    outproj_norm_eps=1e-5,
):  # fmt: skip
    """Signature of the official kernel at mamba e9594ce; release 2.3.2.post1 ends before the fused norm."""
    batch, length, rank, groups, n = Q.shape
    heads, p = V.shape[2:]
    assert Q.shape == K.shape
    assert V.shape == Z.shape == (batch, length, heads, p)
    assert ADT.shape == DT.shape == Trap.shape == (batch, heads, length)
    assert Q_bias.shape == K_bias.shape == (heads, rank, n)
    assert MIMO_V.shape == MIMO_Z.shape == MIMO_Out.shape == (heads, rank, p)
    assert D.shape == (heads,)
    assert chunk_size == 8  # what upstream tests for n = 16, p = 64, rank 4
    assert length % chunk_size == 0
    assert heads % groups == 0
    assert n % 2 == 0
    assert rotary_dim_divisor in (2, 4)
    assert Angles.shape == (batch, length, heads, n // rotary_dim_divisor)
    assert Angles.dtype == torch.float32
    assert dtype == V.dtype
    assert not return_state
    assert cu_seqlens is None
    assert (fuse_pregate_headwise_rms_norm, outproj_norm_weight, outproj_norm_eps) == (False, None, 1e-5)
    dt, adt, trap = (tensor.transpose(1, 2) for tensor in (DT, ADT, Trap))
    inputs = ScanInputs(
        C=Q, B=K, x=V, z=Z, C_bias=Q_bias, B_bias=K_bias, mimo_x=MIMO_V, mimo_z=MIMO_Z, mimo_o=MIMO_Out, D=D,
        angles=Angles.to(V.dtype), dt=dt, adt=adt, trap=trap,
    )  # fmt: skip
    inputs.check()
    return scan_reference(inputs).readout


@pytest.fixture
def kernel(monkeypatch):
    stand_in(monkeypatch, MODULE, mamba3_mimo)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("tokens", [1, 15, 16, 17, 32, 50])
def test_numbers_and_gradients_come_back_at_any_length(tokens):
    arguments = to(random_arguments(tokens=tokens, heads=4, groups=2, rank=3, n=16, angles=4, batch=2), torch.float32)
    cotangent = cotangent_of(arguments)
    oracle = to(differentiate(scan_reference, arguments, cotangent), torch.float64)
    result = differentiate(scan_fused, arguments, cotangent)
    if tokens == 1:
        oracle.pop("angles")
    agrees(result, oracle, out=1e-5, gradient=1e-4)


# The angles of a network are floor(n * fraction / 2) for fraction 0.5 or 1, and the official divisor is 2 / fraction.
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("n", "angles"), [(16, 8), (16, 4), (20, 5), (14, 3), (8, 2), (10, 2), (6, 1)])
def test_the_divisor_is_the_one_that_gives_this_many_angles(n, angles):
    arguments = random_arguments(n=n, angles=angles)
    expected = scan_reference(ScanInputs(**arguments)).readout
    assert relative_error(scan_fused(ScanInputs(**to(arguments, torch.float32))).readout, expected) < 1e-5


def test_without_the_package_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mamba_ssm", None)
    with pytest.raises(ImportError, match=r"somamba\[cuda\]"):
        scan_fused(ScanInputs(**to(random_arguments(), torch.float32)))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("angles", [0, 3])
def test_rotations_the_kernel_does_not_know_are_refused(angles):
    with pytest.raises(BackendError, match="angles"):
        scan_fused(ScanInputs(**to(random_arguments(n=16, angles=angles), torch.float32)))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("kib", "fits"), [(99, True), (63, True), (62, False), (48, False)])
def test_a_gpu_with_too_little_shared_memory_is_told_so(kib, fits, monkeypatch):
    """The paper's shape needs 63 KiB by upstream's allocations: no RTX card is refused, an older one is."""
    assert shared_bytes(4, 16, 64, 4) // 1024 == 63
    monkeypatch.setattr(conditions, "_shared_memory", lambda _index: kib * 1024 + 512)
    reason = BACKENDS["fused"].why_not(Request(device="cuda", sizes=(4, 16, 64, 4), index=1))
    wanted = None if fits else f"its blocks need 63 KiB of shared memory, this GPU gives {kib}"
    assert reason == wanted


def test_without_a_gpu_nothing_is_known_of_its_shared_memory():
    assert torch.cuda.is_available() or conditions._shared_memory(None) is None


@pytest.mark.usefixtures("kernel")
def test_the_kernel_runs_with_the_device_of_the_tensors_as_the_current_one(monkeypatch):
    """The kernel allocates on the current device, whatever holds its arguments."""
    asked = []
    monkeypatch.setattr(torch.cuda, "device_of", lambda tensor: asked.append(tensor) or nullcontext())
    inputs = ScanInputs(**to(random_arguments(), torch.float32))
    scan_fused(inputs)
    assert len(asked) == 1
    assert asked[0] is inputs.x
