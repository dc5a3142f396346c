"""What is handed to the compiled kernels, where more than one file does so; mirrors ``source/kernels.h``."""

import ctypes
from ctypes import c_double, c_float, c_int64

from torch import Tensor

from somamba.native.library import FLOATS, pointer

DOUBLES = ctypes.POINTER(c_double)


class Strided(ctypes.Structure):
    """A tensor with axes (batch, token, head or group): where its numbers lie, and how far apart its neighbours are."""

    _fields_ = [("data", FLOATS), ("batch", c_int64), ("token", c_int64), ("head", c_int64)]

    @classmethod
    def of(cls, tensor: Tensor) -> "Strided":
        """Describe a tensor by its first three axes."""
        return cls(pointer(tensor), *tensor.stride()[:3])


class Scan(ctypes.Structure):
    """The Mamba-3 scan."""

    _fields_ = [
        *((name, c_int64) for name in ("batch", "tokens", "heads", "p", "n", "rank", "groups", "angles")),
        ("C", Strided),
        ("B", Strided),
        ("C_rank", c_int64),
        ("B_rank", c_int64),
        *((name, Strided) for name in ("x", "z", "angle", "dt", "adt", "trap")),
        *((name, FLOATS) for name in ("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o", "D")),
        ("out", Strided),
        ("states", FLOATS),
        ("boundary", FLOATS),
        ("turns", DOUBLES),
        ("scratch", FLOATS),
        ("advance", c_int64),
        ("carry", FLOATS),
        ("turns_in", DOUBLES),
        ("turns_out", DOUBLES),
    ]


class ScanSizes(ctypes.Structure):
    """Sizes of its buffers."""

    _fields_ = [(name, c_int64) for name in ("boundary", "turns", "forward", "backward", "partial")]


class Interface(ctypes.Structure):
    """Norm and modulation of B and C."""

    _fields_ = [
        *((name, c_int64) for name in ("rows", "vectors", "n")),
        ("B", FLOATS),
        ("C", FLOATS),
        ("B_row", c_int64),
        ("C_row", c_int64),
        ("B_weight", FLOATS),
        ("C_weight", FLOATS),
        ("hidden_size", c_int64),
        ("hidden_row", c_int64),
        *((name, FLOATS) for name in ("hidden", "weight", "bias")),
        *((name, c_float) for name in ("scale", "shift", "eps")),
        *((name, FLOATS) for name in ("B_out", "C_out", "scratch")),
    ]


class Depthwise(ctypes.Structure):
    """Depthwise filter and GELU."""

    _fields_ = [
        *((name, c_int64) for name in ("batch", "height", "width", "channels")),
        *((name, FLOATS) for name in ("x", "weight", "bias", "out")),
    ]


ROWS_ABREAST = 4
"""As in source/interface.h."""
