"""Which implementation runs the selective scan of Mamba-1."""

from somamba.scan.choice import Backend, Backends, Request, always, full_precision, fused_why_not, native_why_not
from somamba.scan.inputs import ScanOutput
from somamba.scan.selective.chunked import selective_chunked
from somamba.scan.selective.fused import KERNEL, selective_fused
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.native import selective_native
from somamba.scan.selective.reference import selective_reference

BACKENDS = Backends(
    "selective scan backend",
    {
        "fused": Backend(selective_fused, fused_why_not(KERNEL, "mamba-ssm"), "official mamba_ssm kernel, CUDA"),
        "native": Backend(selective_native, native_why_not, "compiled C++ on the CPU, float32"),
        "chunked": Backend(selective_chunked, always, "plain PyTorch, any device"),
        "reference": Backend(selective_reference, always, "the definition, one token at a time, slow"),
    },
)


def selective_scan(inputs: SelectiveInputs, *, backend: str = "auto", keep_states: bool = False) -> ScanOutput:
    """Run the selective scan."""
    inputs.check()
    request = Request(inputs.u.device.type, inputs.u.dtype, keep_states)
    with full_precision(request.device):
        return BACKENDS.choose(backend, request).run(inputs, keep_states=keep_states)
