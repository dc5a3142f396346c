"""Adapter to the official Mamba-3 MIMO kernel of ``mamba_ssm`` (CUDA, extra ``cuda``).

The kernel takes normed B and C and adds bias and rotation itself, so the modulated interfaces go in unchanged. It
returns no state trajectory. This file only renames arguments and turns axes; it has not been run on a GPU by us.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from somamba.errors import BackendError
from somamba.extras import require
from somamba.scan.inputs import ScanInputs, ScanOutput

KERNEL = "mamba_ssm.ops.tilelang.mamba3.mamba3_mimo"
# The kernel's own tests use chunks of 8 for this shape; 16 would need 101 KiB of shared memory, and many GPUs have 99.
CHUNK = 8


def shared_bytes(rank: int, n: int, p: int, angles: int) -> int:
    """Count the shared memory of one block of the kernel's second backward part, its largest, in float32.

    The terms are the ``alloc_shared`` of ``mamba3_mimo_bwd`` at mamba e9594ce: 63 KiB for the paper's shape.

    Args:
        rank: Rank of the scan.
        n: Width of the state.
        p: Channels of a head.
        angles: Rotated pairs of the state.
    """
    rows = CHUNK * rank
    states, contents, lifted = 2 * n * p, 2 * CHUNK * p, 3 * rows * p
    interfaces, scores = rows * (7 * n + angles), 3 * rows * rows
    return 4 * (states + contents + lifted + interfaces + scores + CHUNK * rank * rank + 3 * CHUNK)


def kernel_arguments(inputs: ScanInputs) -> dict[str, Any]:
    """Map our names and axes to the keyword arguments of ``mamba3_mimo``."""
    per_head = {name: getattr(inputs, name).transpose(1, 2).contiguous() for name in ("adt", "dt", "trap")}
    return {
        "Q": inputs.C,
        "K": inputs.B,
        "V": inputs.x,
        "ADT": per_head["adt"],
        "DT": per_head["dt"],
        "Trap": per_head["trap"],
        "Q_bias": inputs.C_bias,
        "K_bias": inputs.B_bias,
        "MIMO_V": inputs.mimo_x,
        "MIMO_Z": inputs.mimo_z,
        "MIMO_Out": inputs.mimo_o,
        "Angles": inputs.angles.float().contiguous(),
        "D": inputs.D,
        "Z": inputs.z,
        "chunk_size": CHUNK,
        "rotary_dim_divisor": _divisor(inputs.B.shape[-1], inputs.angles.shape[-1]),
        "dtype": inputs.x.dtype,
        "return_state": False,
        "cu_seqlens": None,
    }  # Newer versions also take a fused norm, which is off unless asked for.


def _divisor(n: int, angles: int) -> int:
    """2 if all of the state is rotated, 4 if half of it is, in whole pairs; the kernel knows nothing else."""
    for divisor in (2, 4):
        if angles and angles == (2 * n // divisor) // 2:
            return divisor
    raise BackendError(
        f"The fused kernel rotates all of the state or half of it, in whole pairs; got {angles} angles for n={n}. "
        "Use 'auto' or 'chunked'."
    )


def scan_fused(inputs: ScanInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run the official kernel; `why_not` of the backend table has refused what it cannot do."""
    del keep_states
    kernel: Callable[..., Tensor] = require(KERNEL, extra="cuda").mamba3_mimo
    length = inputs.x.shape[1]
    with torch.cuda.device_of(inputs.x):  # The kernel allocates on the current device.
        return ScanOutput(kernel(**kernel_arguments(_padded(inputs)))[:, :length], None)


def _padded(inputs: ScanInputs) -> ScanInputs:
    """Lengthen to whole chunks, which the kernel walks by. The zeros come after everything they could disturb."""
    short = -inputs.x.shape[1] % CHUNK
    if not short:
        return inputs

    def longer(tensor: Tensor) -> Tensor:
        return torch.cat([tensor, tensor.new_zeros(tensor.shape[0], short, *tensor.shape[2:])], dim=1)

    tokens = ("C", "B", "x", "z", "angles", "dt", "adt", "trap")
    return replace(inputs, **{name: longer(getattr(inputs, name)) for name in tokens})
