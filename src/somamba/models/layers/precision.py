"""The end of half precision: matrix products may run in bfloat16, everything between them in float32 or better."""

import torch
from torch import Tensor


def full(x: Tensor) -> Tensor:
    """Half-precision results of autocast as float32; anything else as it is."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
