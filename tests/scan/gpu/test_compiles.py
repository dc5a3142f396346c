"""Every kernel compiles for GPUs that are not here and stays below the shared memory that they have."""

import os
from dataclasses import asdict

import pytest

pytest.importorskip("triton", reason="triton is not installed: .ci/triton makes an environment for these tests")
if os.environ.get("TRITON_INTERPRET") == "1":
    pytest.skip("TRITON_INTERPRET=1 is set: nothing is compiled", allow_module_level=True)

from scan.gpu.compiling import ARCHITECTURES, SHARED, compile_for
from somamba.scan.gpu import backward, forward
from somamba.scan.gpu.function import ELEMENTS
from somamba.scan.gpu.sizes import tiles_for

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")

KERNELS = (
    forward.added_kernel,
    forward.entering_kernel,
    forward.readout_kernel,
    forward.states_kernel,
    backward.entering_gradient_kernel,
    backward.leaving_gradient_kernel,
    backward.interface_gradient_kernel,
    backward.content_gradient_kernel,
)
MORE = {90: 227 * 1024}
"""Where products of warp groups take more and the device has it."""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_it_compiles_and_fits(kernel, architecture, record_property):
    compiled = compile_for(architecture, kernel, asdict(tiles_for(4, 16, 64, architecture)) | {"BLOCK": ELEMENTS})
    assert compiled.asm["cubin"]
    assert compiled.metadata.shared <= MORE.get(architecture, SHARED)
    record_property("shared", compiled.metadata.shared)
