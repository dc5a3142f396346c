"""Which implementation runs the Mamba-3 scan."""

from functools import partial

import torch
from torch import Tensor, nn

from somamba.extras import require
from somamba.scan.choice import Backend, Backends, Request, full_precision
from somamba.scan.chunked import scan_chunked
from somamba.scan.conditions import always, compiled_why_not, fused_why_not, native_why_not, triton_why_not
from somamba.scan.fused import KERNEL, scan_fused, shared_bytes
from somamba.scan.gpu.sizes import why_not_tiles
from somamba.scan.inputs import ScanInputs, ScanOutput
from somamba.scan.native import scan_native
from somamba.scan.reference import scan_reference

__all__ = ["BACKENDS", "Backend", "Request", "choose", "scan"]

PAPER = (4, 16, 64, 4)
"""Rank, n, p and angles of the paper's network."""


def example(sizes: tuple[int, ...]) -> ScanInputs:
    """Make the arguments of a small scan in float64, whose values float32 holds exactly.

    Args:
        sizes: Rank, n, p and angles; empty for those of the paper.
    """
    rank, n, p, angles = sizes or PAPER
    tokens, heads = 37, 2
    rng = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=rng).double()

    interface, per_token = (1, tokens, rank, 1, n), (1, tokens, heads)
    return ScanInputs(
        C=draw(*interface),
        B=draw(*interface),
        x=draw(*per_token, p),
        z=draw(*per_token, p),
        C_bias=draw(heads, rank, n),
        B_bias=draw(heads, rank, n),
        mimo_x=draw(heads, rank, p),
        mimo_z=draw(heads, rank, p),
        mimo_o=draw(heads, rank, p),
        D=draw(heads),
        angles=draw(*per_token, angles),
        dt=draw(*per_token).abs() / 4,
        adt=-draw(*per_token).abs() / 4,
        trap=draw(*per_token),
    )


def _scan_triton(inputs: ScanInputs, *, keep_states: bool = False) -> ScanOutput:
    """Import the kernels when they are run: Triton is an optional module."""
    require("triton", extra="cuda")
    from somamba.scan.gpu.function import scan_triton

    return scan_triton(inputs, keep_states=keep_states)


def _fits(rank: int, n: int, p: int, _angles: int) -> str | None:
    return why_not_tiles(rank, n, p)


BACKENDS = Backends(
    "scan backend",
    {
        "triton": Backend(_scan_triton, triton_why_not(_fits), "own Triton kernels, CUDA, float32"),
        "fused": Backend(
            scan_fused,
            fused_why_not(KERNEL, "mamba-ssm with its Mamba-3 kernels", shared_bytes),
            "official mamba_ssm kernel, CUDA",
        ),
        "native": Backend(scan_native, native_why_not, "compiled C++ on the CPU, float32"),
        "compiled": Backend(
            partial(scan_chunked, compiled=True), compiled_why_not, "'chunked' through torch.compile", ("cuda",)
        ),
        "chunked": Backend(scan_chunked, always, "plain PyTorch, any device with float64"),
        "reference": Backend(scan_reference, always, "the definition, one token at a time, slow"),
    },
    example=example,
)
choose = BACKENDS.choose


def scan(inputs: ScanInputs, *, backend: str = "auto", keep_states: bool = False) -> ScanOutput:
    """Run the Mamba-3 MIMO scan.

    Args:
        inputs: The arguments of the scan.
        backend: Name of a backend, or ``auto``.
        keep_states: Also return the state at every token.
    """
    inputs.check()
    rank, _, n = inputs.B.shape[2:]
    sizes = (rank, n, inputs.x.shape[3], inputs.angles.shape[3])
    device = inputs.x.device
    request = Request(device.type, inputs.x.dtype, keep_states, sizes, device.index)
    with full_precision(request.device):
        return choose(backend, request).run(inputs, keep_states=keep_states)


class Scan(nn.Module):
    """Runs the Mamba-3 MIMO scan with one backend. It learns nothing."""

    def __init__(self, backend: str = "auto") -> None:
        super().__init__()
        self.backend = backend

    def forward(self, inputs: ScanInputs) -> Tensor:
        """Return the read-out ``(batch, tokens, heads, p)``."""
        return scan(inputs, backend=self.backend).readout

    def extra_repr(self) -> str:
        """Return the backend, which ``print`` shows."""
        return f"backend={self.backend!r}"
