"""Which implementation runs the Mamba-3 scan."""

from somamba.scan.choice import Backend, Backends, Request, always, full_precision, fused_why_not, native_why_not
from somamba.scan.chunked import scan_chunked
from somamba.scan.fused import KERNEL, scan_fused
from somamba.scan.inputs import ScanInputs, ScanOutput
from somamba.scan.native import scan_native
from somamba.scan.reference import scan_reference

__all__ = ["BACKENDS", "Backend", "Request", "choose", "scan"]

BACKENDS = Backends(
    "scan backend",
    {
        "fused": Backend(
            scan_fused,
            fused_why_not(KERNEL, "mamba-ssm with its Mamba-3 kernels"),
            "official mamba_ssm kernel, CUDA",
        ),
        "native": Backend(scan_native, native_why_not, "compiled C++ on the CPU, float32"),
        "chunked": Backend(scan_chunked, always, "plain PyTorch, any device with float64"),
        "reference": Backend(scan_reference, always, "the definition, one token at a time, slow"),
    },
)
choose = BACKENDS.choose


def scan(inputs: ScanInputs, *, backend: str = "auto", keep_states: bool = False) -> ScanOutput:
    """Run the Mamba-3 MIMO scan."""
    inputs.check()
    request = Request(inputs.x.device.type, inputs.x.dtype, keep_states)
    with full_precision(request.device):
        return choose(backend, request).run(inputs, keep_states=keep_states)
