"""The structures that the compiled kernels take: all of ``source/kernels.h``, mirrored.

When the library is loaded, names, sizes and places of all fields are compared with what it says of itself.
"""

import ctypes
from ctypes import c_float, c_int64, c_void_p

from torch import Tensor

# Plain addresses: a step fills in thousands of them, and typed pointers take ten times as long to make.
FLOATS = DOUBLES = c_void_p


def pointer(tensor: Tensor) -> int:
    """The address of the numbers of a tensor."""
    return tensor.data_ptr()


class Constants(ctypes.Structure):
    """What sizes of buffers depend on."""

    _fields_ = [(name, c_int64) for name in ("lanes", "chunk", "rows_abreast", "largest_radix")]


class Strided(ctypes.Structure):
    """A tensor with axes (batch, token, head or group): where its numbers lie, and how far apart its neighbours are."""

    _fields_ = [("data", FLOATS), ("batch", c_int64), ("token", c_int64), ("head", c_int64)]

    @classmethod
    def of(cls, tensor: Tensor) -> "Strided":
        """Describe a tensor by its first three axes."""
        return cls(pointer(tensor), *tensor.stride()[:3])


class ScanCall(ctypes.Structure):
    """Arguments of the Mamba-3 scan."""

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


class ScanGradient(ctypes.Structure):
    """Gradients of the Mamba-3 scan."""

    _fields_ = [
        *((name, Strided) for name in ("dout", "x", "z", "readout")),
        *((name, FLOATS) for name in ("C", "B", "angle", "dt", "adt", "trap")),
        *((name, FLOATS) for name in ("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o", "D", "partial")),
    ]


class ScanSizes(ctypes.Structure):
    """Sizes of the buffers of the Mamba-3 scan."""

    _fields_ = [(name, c_int64) for name in ("boundary", "turns", "forward", "backward", "partial")]


class Selective(ctypes.Structure):
    """The selective scan of Mamba-1."""

    _fields_ = [
        *((name, c_int64) for name in ("batch", "tokens", "groups", "channels", "n")),
        *((name, Strided) for name in ("u", "dt", "B", "C")),
        *((name, FLOATS) for name in ("A", "D", "out", "states", "boundary", "scratch")),
    ]


class SelectiveGradient(ctypes.Structure):
    """Gradients of the selective scan."""

    _fields_ = [(name, FLOATS) for name in ("dout", "u", "dt", "A", "D", "B", "C", "partial")]


class SelectiveSizes(ctypes.Structure):
    """Sizes of the buffers of the selective scan."""

    _fields_ = [(name, c_int64) for name in ("boundary", "forward", "backward", "partial")]


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


class InterfaceGradient(ctypes.Structure):
    """Gradients of norm and modulation of B and C."""

    _fields_ = [
        *((name, FLOATS) for name in ("dB", "dC", "modulation", "B", "C")),
        ("B_row", c_int64),
        ("C_row", c_int64),
        ("dmodulation", FLOATS),
        ("partial", FLOATS),
    ]


class Depthwise(ctypes.Structure):
    """Depthwise filter and GELU."""

    _fields_ = [
        *((name, c_int64) for name in ("batch", "height", "width", "channels")),
        *((name, FLOATS) for name in ("x", "weight", "bias", "out")),
    ]


class DepthwiseGradient(ctypes.Structure):
    """Gradients of the depthwise filter."""

    _fields_ = [(name, FLOATS) for name in ("dout", "x", "filtered", "partial")]


class Route(ctypes.Structure):
    """Arguments of the router of one image."""

    _fields_ = [
        *((name, c_int64) for name in ("height", "width", "channels", "d", "low_height", "low_width", "smoothing")),
        *((name, FLOATS) for name in ("features", "norm_weight", "norm_bias", "taps", "taps_bias")),
        ("carrier_weight", c_void_p),
        ("evidence_weight", c_void_p),
        ("carrier_bias", FLOATS),
        ("evidence_bias", FLOATS),
        ("half", c_int64),
        ("smooth", FLOATS),
        ("norm_eps", c_float),
        *((name, FLOATS) for name in ("carrier", "evidence", "low", "kept", "scratch")),
    ]


class RouteGradient(ctypes.Structure):
    """Gradients of the router."""

    _fields_ = [
        *((name, FLOATS) for name in ("dout", "dcarrier", "devidence")),
        ("carrier_weight", c_void_p),
        ("evidence_weight", c_void_p),
        *((name, FLOATS) for name in ("dlow", "dfiltered", "dfeatures", "sums")),
    ]


class RouteSizes(ctypes.Structure):
    """Sizes of the buffers of the router."""

    _fields_ = [(name, c_int64) for name in ("forward", "backward", "sums")]


class Stream(ctypes.Structure):
    """Arguments of the ownership block."""

    _fields_ = [
        *((name, c_int64) for name in ("tokens", "piece", "width", "channels", "heads")),
        ("content", FLOATS),
        ("evidence", FLOATS),
        ("gate", FLOATS),
        ("token_gate", FLOATS),
        ("outlet", Depthwise),
        ("features", FLOATS),
        ("out", FLOATS),
        *((name, FLOATS) for name in ("content_weight", "content_bias", "evidence_weight", "evidence_bias")),
        ("project_weight", c_void_p),
        *((name, c_int64) for name in ("columns", "pitch", "dt_at", "decay_at")),
        ("dt_bias", FLOATS),
        ("hidden_size", c_int64),
        ("reduce_weight", c_void_p),
        ("reduce_bias", FLOATS),
        ("inner", c_int64),
        ("merge_weight", c_void_p),
        ("merge_bias", FLOATS),
        ("halved", c_void_p),
        ("norm_eps", c_float),
        ("decay_floor", c_float),
        ("decay_softplus", c_int64),
        *((name, FLOATS) for name in ("normed", "projected", "hidden", "readout", "raw", "reduced")),
        *((name, FLOATS) for name in ("content_kept", "evidence_kept")),
        ("interface", Interface),
        ("scan", ScanCall),
    ]


class StreamGradient(ctypes.Structure):
    """Gradients of the ownership block."""

    _fields_ = [
        ("dout", FLOATS),
        *((f"{name}_weight", c_void_p) for name in ("read", "refine", "project", "modulation", "modulate", "reduce")),
        *((name, FLOATS) for name in ("dreadout", "readout", "dfiltered", "dprojected", "dB", "dC")),
        *((name, FLOATS) for name in ("ddt", "dadt", "dtrap", "dangle", "dcontent", "devidence", "sums", "scratch")),
    ]


class StreamSizes(ctypes.Structure):
    """Sizes of the buffers of the ownership block."""

    _fields_ = [("backward", c_int64), ("sums", c_int64)]


class End(ctypes.Structure):
    """Phi or Psi, the ends of a stage."""

    _fields_ = [
        *((name, c_int64) for name in ("rows", "patch", "channels")),
        ("x", FLOATS),
        ("weight", c_void_p),
        *((name, FLOATS) for name in ("bias", "norm_weight", "norm_bias")),
        ("norm_eps", c_float),
        ("out", FLOATS),
        ("scratch", FLOATS),
    ]


class EndGradient(ctypes.Structure):
    """Gradients of Phi or Psi."""

    _fields_ = [("dout", FLOATS), ("weight", c_void_p), ("dx", FLOATS), ("sums", FLOATS)]


class Transform(ctypes.Structure):
    """A Fourier transform in stages."""

    _fields_ = [
        ("width", c_int64),
        ("stages", c_int64),
        ("radices", c_void_p),
        ("twiddles", FLOATS),
        ("roots", FLOATS),
        ("twiddles_size", c_int64),
        ("roots_size", c_int64),
    ]


class Solve(ctypes.Structure):
    """Conjugate gradients of one slice."""

    _fields_ = [
        *((name, c_int64) for name in ("coils", "height", "blocks")),
        ("transform", Transform),
        *((name, FLOATS) for name in ("keep", "maps", "packed", "solution", "residual", "direction", "applied")),
        ("lines", FLOATS),
        ("sums", DOUBLES),
        ("strength", c_float),
    ]


STRUCTURES: tuple[type[ctypes.Structure], ...] = (
    Constants, Strided, ScanCall, ScanGradient, ScanSizes, Selective, SelectiveGradient, SelectiveSizes, Interface,
    InterfaceGradient, Depthwise, DepthwiseGradient, Route, RouteGradient, RouteSizes, Stream, StreamGradient,
    StreamSizes, End, EndGradient, Transform, Solve,
)  # fmt: skip
"""All structures that Python and the kernels share."""


def layout() -> dict[str, str]:
    """Name and size of every structure, and the offsets of its fields, written as ``source/layout.cpp`` writes them."""
    return {
        f"{kind.__name__}={ctypes.sizeof(kind)}": " ".join(
            f"{name}={getattr(kind, name).offset}" for name, *_ in kind._fields_
        )
        for kind in STRUCTURES
    }
