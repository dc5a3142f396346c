"""Every kernel of the selective scan compiles for GPUs that are not here and stays below their shared memory."""

import os
from dataclasses import asdict

import pytest

pytest.importorskip("triton", reason="triton is not installed: .ci/triton makes an environment for these tests")
if os.environ.get("TRITON_INTERPRET") == "1":
    pytest.skip("TRITON_INTERPRET=1 is set: nothing is compiled", allow_module_level=True)

from scan.gpu.compiling import ARCHITECTURES, SHARED, compile_for
from somamba.scan.selective.gpu import backward, forward
from somamba.scan.selective.gpu.function import ELEMENTS
from somamba.scan.selective.gpu.sizes import BACKWARD, FORWARD, tiles_for

pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")

KERNELS = (
    (forward.added_kernel, FORWARD),
    (forward.entering_kernel, FORWARD),
    (forward.readout_kernel, FORWARD),
    (backward.entering_gradient_kernel, BACKWARD),
    (backward.leaving_gradient_kernel, BACKWARD),
    (backward.gradient_kernel, BACKWARD),
)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("kernel", "tokens"), KERNELS, ids=lambda given: getattr(given, "__name__", ""))
def test_it_compiles_and_fits(kernel, tokens, architecture, record_property):
    constants = asdict(tiles_for(16, 192)) | {"T": tokens, "BLOCK": ELEMENTS, "KEEP": False}
    compiled = compile_for(architecture, kernel, constants)
    assert compiled.asm["cubin"]
    assert compiled.metadata.shared <= SHARED
    record_property("shared", compiled.metadata.shared)
