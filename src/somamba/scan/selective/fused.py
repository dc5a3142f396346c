"""Adapter to the official selective scan kernel of ``mamba_ssm`` (CUDA, extra ``cuda``).

The kernel wants the tokens last and takes no softplus from us: dt is positive already. It returns no state trajectory.
This file only renames arguments and turns axes; it has not been run on a GPU by us.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from somamba.errors import BackendError
from somamba.extras import require
from somamba.scan.inputs import ScanOutput
from somamba.scan.selective.inputs import SelectiveInputs

KERNEL = "mamba_ssm.ops.selective_scan_interface"
MOST_STATES = 256  # the kernel refuses more


def kernel_arguments(inputs: SelectiveInputs) -> dict[str, Any]:
    """Map our names and axes to the keyword arguments of ``selective_scan_fn``."""
    if inputs.A.shape[1] > MOST_STATES:
        raise BackendError(
            f"The fused kernel holds at most {MOST_STATES} states for each channel; got n={inputs.A.shape[1]}. "
            "Use 'chunked'."
        )
    return {
        "u": inputs.u.transpose(1, 2).contiguous(),
        "delta": inputs.dt.transpose(1, 2).contiguous(),
        "A": inputs.A,
        "B": inputs.B.permute(0, 2, 3, 1).contiguous(),
        "C": inputs.C.permute(0, 2, 3, 1).contiguous(),
        "D": inputs.D,
        "z": None,
        "delta_bias": None,
        "delta_softplus": False,
        "return_last_state": False,
    }


def selective_fused(inputs: SelectiveInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run the official kernel; `why_not` of the backend table has refused what it cannot do."""
    del keep_states
    kernel: Callable[..., Tensor] = require(KERNEL, extra="cuda").selective_scan_fn
    return ScanOutput(kernel(**kernel_arguments(inputs)).transpose(1, 2), None)
