"""A tensor with axes (batch, token, head or group), as the compiled scans see it; mirrors ``source/kernels.h``."""

import ctypes
from ctypes import c_int64

from torch import Tensor

from somamba.native.library import FLOATS, pointer


class Strided(ctypes.Structure):
    """Where its numbers lie, and how many floats apart its neighbours are along each axis."""

    _fields_ = [("data", FLOATS), ("batch", c_int64), ("token", c_int64), ("head", c_int64)]

    @classmethod
    def of(cls, tensor: Tensor) -> "Strided":
        """Describe a tensor by its first three axes."""
        return cls(pointer(tensor), *tensor.stride()[:3])
