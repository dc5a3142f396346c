"""Which implementation runs the selective scan of Mamba-1."""

import torch
from torch import Tensor, nn

from somamba.extras import require
from somamba.scan.choice import Backend, Backends, Request, full_precision
from somamba.scan.conditions import always, fused_why_not, native_why_not, triton_why_not
from somamba.scan.inputs import ScanOutput
from somamba.scan.selective.chunked import selective_chunked
from somamba.scan.selective.fused import KERNEL, selective_fused
from somamba.scan.selective.gpu.sizes import why_not_tiles
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.native import selective_native
from somamba.scan.selective.reference import selective_reference


def example(sizes: tuple[int, ...]) -> SelectiveInputs:
    """Make the arguments of a small selective scan in float64, whose values float32 holds exactly.

    Args:
        sizes: The width of the state; empty for that of VMamba.
    """
    (n,) = sizes or (16,)
    tokens, groups, channels = 37, 2, 40
    rng = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=rng).double()

    return SelectiveInputs(
        u=draw(1, tokens, channels),
        dt=draw(1, tokens, channels).abs() / 4,
        A=-draw(channels, n).abs(),
        B=draw(1, tokens, groups, n),
        C=draw(1, tokens, groups, n),
        D=draw(channels),
    )


def _selective_triton(inputs: SelectiveInputs, *, keep_states: bool = False) -> ScanOutput:
    """Import the kernels when they are run: Triton is an optional module."""
    require("triton", extra="cuda")
    from somamba.scan.selective.gpu.function import selective_triton

    return selective_triton(inputs, keep_states=keep_states)


BACKENDS = Backends(
    "selective scan backend",
    {
        "fused": Backend(selective_fused, fused_why_not(KERNEL, "mamba-ssm"), "official mamba_ssm kernel, CUDA"),
        "triton": Backend(_selective_triton, triton_why_not(why_not_tiles), "own Triton kernels, CUDA, float32"),
        "native": Backend(selective_native, native_why_not, "compiled C++ on the CPU, float32"),
        "chunked": Backend(selective_chunked, always, "plain PyTorch, any device"),
        "reference": Backend(selective_reference, always, "the definition, one token at a time, slow"),
    },
    example=example,
)


def selective_scan(inputs: SelectiveInputs, *, backend: str = "auto", keep_states: bool = False) -> ScanOutput:
    """Run the selective scan.

    Args:
        inputs: The arguments of the scan.
        backend: Name of a backend, or ``auto``.
        keep_states: Also return the state at every token.
    """
    inputs.check()
    device = inputs.u.device
    request = Request(device.type, inputs.u.dtype, keep_states, (inputs.A.shape[1],), device.index)
    with full_precision(request.device):
        return BACKENDS.choose(backend, request).run(inputs, keep_states=keep_states)


class SelectiveScan(nn.Module):
    """Runs the selective scan with one backend. It learns nothing."""

    def __init__(self, backend: str = "auto") -> None:
        super().__init__()
        self.backend = backend

    def forward(self, inputs: SelectiveInputs) -> Tensor:
        """Return the read-out ``(batch, tokens, channels)``."""
        return selective_scan(inputs, backend=self.backend).readout

    def extra_repr(self) -> str:
        """Return the backend, which ``print`` shows."""
        return f"backend={self.backend!r}"
