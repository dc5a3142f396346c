"""The ownership block for inference, compiled: pieces of the token sequence go through it one after another.

The structure mirrors ``source/kernels.h``.
"""

import ctypes
from ctypes import c_float, c_int64, c_void_p
from dataclasses import dataclass

import torch
from torch import Tensor

from somamba.native import depthwise
from somamba.native.library import FLOATS, library, pointer, workers
from somamba.native.product import CHUNK, LANES, address, packed
from somamba.native.structures import DOUBLES, ROWS_ABREAST, Depthwise, Interface, Scan, ScanSizes, Strided

PIECE = 512
"""Tokens of a piece: its buffers stay in the cache, and its products are large enough to run at full speed."""


class _Stream(ctypes.Structure):
    _fields_ = [
        *((name, c_int64) for name in ("tokens", "piece", "width", "channels", "heads")),
        ("content", FLOATS),
        ("evidence", FLOATS),
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
        *((name, FLOATS) for name in ("normed", "projected", "hidden", "readout")),
        ("interface", Interface),
        ("scan", Scan),
    ]


@dataclass(frozen=True, kw_only=True)
class StreamWeights:
    """The parameters of one ownership block, float32 and contiguous."""

    content_norm: tuple[Tensor, Tensor]
    """Weight and bias of the layer norm of L."""
    evidence_norm: tuple[Tensor, Tensor]
    """Of the layer norm of G."""
    norm_eps: float
    project: Tensor
    """``(columns, width)``: z, x, B, C, dt, A, trap, angle."""
    dt_bias: Tensor
    B_norm: Tensor
    C_norm: Tensor
    B_bias: Tensor
    """``(heads, rank, n)``."""
    C_bias: Tensor
    mimo_x: Tensor
    """``(heads, rank, p)``."""
    mimo_z: Tensor
    mimo_o: Tensor
    D: Tensor
    groups: int
    interface_eps: float
    decay_floor: float
    decay_softplus: bool
    reduce: tuple[Tensor, Tensor]
    """Weight and bias of the first layer of P."""
    modulate: tuple[Tensor, Tensor]
    """Of its last, the weight as ``(hidden, 4 * rank * groups * n)``."""
    scale: float
    shift: float
    outlet: tuple[Tensor, Tensor]
    """Weight ``(width, 1, 3, 3)`` and bias of the outlet's filter."""
    merge: tuple[Tensor, Tensor, Tensor]
    """``(channels, read-out)`` and ``(channels, width)``, for the read-out and the filtered evidence; and the bias."""


def stream_block(
    features: Tensor,
    content: Tensor,
    evidence: Tensor,
    weights: StreamWeights,
    *,
    piece: int = PIECE,
    half: bool = False,
) -> Tensor:
    """``features + W_o([S, NSR(G)])``, S the read-out of a scan over the normed content, modulated by the evidence.

    Args:
        features: ``(batch, y, x, channels)``, like all arguments float32 and on the CPU.
        content: ``(batch, y, x, width)``: L.
        evidence: ``(batch, y, x, width)``: G.
        weights: Of the block.
        piece: Tokens at a time.
        half: Take the products of linear layers in bfloat16, summed in float32; all else stays in float32.
    """
    features, content, evidence = (grid.contiguous() for grid in (features, content, evidence))
    _, height, width, channels = features.shape
    out = torch.empty(features.shape)
    buffers = _Buffers(weights, min(piece, height * width), content.shape[-1], half=half)
    for image in range(features.shape[0]):
        call, scan_workers = buffers.describe(weights)
        call.tokens, call.channels = height * width, channels
        filtered, _held = depthwise.describe(evidence[image, None], *weights.outlet)
        call.outlet = filtered
        parts = (content[image], evidence[image], features[image], out[image])
        call.content, call.evidence, call.features, call.out = map(pointer, parts)
        library().somamba_stream(ctypes.byref(call), workers(), scan_workers)
    return out


class _Buffers:
    """What one piece needs on its way; used again by the next."""

    def __init__(self, weights: StreamWeights, piece: int, width: int, *, half: bool) -> None:
        self.piece, self.width = piece, width
        self.heads, self.rank, self.n = weights.B_bias.shape
        self.p = weights.mimo_x.shape[-1]
        self.vectors = self.rank * weights.groups
        self.angles = weights.project.shape[0] - self._after_angle()
        self.pitch = -(-weights.project.shape[0] // LANES) * LANES
        wide, inner = self.vectors * self.n, self.heads * self.p
        self.normed = torch.empty(workers(), CHUNK, width)
        self.projected = torch.empty(piece + 1, self.pitch)
        self.hidden = torch.empty(piece, weights.reduce[0].shape[0])
        self.readout = torch.empty(piece + 1, inner)
        self.B, self.C = torch.empty(piece + 1, wide), torch.empty(piece + 1, wide)
        self.modulation = torch.empty(workers() * ROWS_ABREAST * 4 * wide)
        tiles = -(-self.p // LANES)
        self.carry = torch.empty(self.heads * tiles * -(-self.n // LANES) * LANES * LANES)
        self.turns = torch.empty(2, self.heads * max(self.angles, 1), dtype=torch.float64)
        self.scratch = torch.empty(0)
        linear = ((weights.project,), (weights.reduce[0],), weights.merge[:2])
        self.packed = [packed(*parts, half=half) for parts in linear]
        rows = workers() * CHUNK if half else 0
        self.halved = torch.empty(rows, inner + inner % 2 + width + width % 2, dtype=torch.bfloat16)

    def _after_angle(self) -> int:
        """Columns before the angles: z, x, B, C, dt, A, trap."""
        return 2 * self.heads * self.p + 2 * self.vectors * self.n + 3 * self.heads

    def describe(self, weights: StreamWeights) -> tuple[_Stream, int]:
        """The call, but for the image; and how many workers its scan has. The state starts from zero."""
        self.carry.zero_()
        self.turns.zero_()
        inner, wide = self.heads * self.p, self.vectors * self.n
        dt_at = 2 * inner + 2 * wide
        scan, scan_workers = self._scan(weights, dt_at)
        call = _Stream(
            piece=self.piece, width=self.width, heads=self.heads, columns=weights.project.shape[0], pitch=self.pitch,
            dt_at=dt_at, decay_at=dt_at + self.heads, hidden_size=self.hidden.shape[1], inner=inner,
            norm_eps=weights.norm_eps, decay_floor=weights.decay_floor,
            decay_softplus=weights.decay_softplus, interface=self._interface(weights), scan=scan,
        )  # fmt: skip
        for name in ("normed", "projected", "hidden", "readout"):
            setattr(call, name, pointer(getattr(self, name)))
        for name in ("content", "evidence"):
            weight, bias = getattr(weights, f"{name}_norm")
            setattr(call, f"{name}_weight", pointer(weight))
            setattr(call, f"{name}_bias", pointer(bias))
        call.project_weight, call.reduce_weight, call.merge_weight = map(address, self.packed)
        # An empty tensor lies at 0: products in float32.
        call.halved = address(self.halved)
        call.dt_bias, call.reduce_bias, call.merge_bias = map(
            pointer, (weights.dt_bias, weights.reduce[1], weights.merge[2])
        )
        return call, scan_workers

    def _interface(self, weights: StreamWeights) -> Interface:
        rows, (weight, bias) = self.projected[1:], weights.modulate
        wide, inner = self.vectors * self.n, self.heads * self.p
        return Interface(
            0, self.vectors, self.n, pointer(rows[:, 2 * inner :]), pointer(rows[:, 2 * inner + wide :]), self.pitch,
            self.pitch, pointer(weights.B_norm), pointer(weights.C_norm), self.hidden.shape[1], self.hidden.shape[1],
            pointer(self.hidden), pointer(weight), pointer(bias), weights.scale, weights.shift, weights.interface_eps,
            pointer(self.B[1:]), pointer(self.C[1:]), pointer(self.modulation),
        )  # fmt: skip

    def _scan(self, weights: StreamWeights, dt_at: int) -> tuple[Scan, int]:
        inner, heads = self.heads * self.p, self.heads
        scan = Scan(1, self.piece + 1, heads, self.p, self.n, self.rank, weights.groups, self.angles)
        scan.advance = scan.tokens
        wide = self.vectors * self.n
        for name, buffer in (("C", self.C), ("B", self.B)):
            setattr(scan, name, Strided(pointer(buffer), 0, wide, self.n))
            setattr(scan, f"{name}_rank", weights.groups * self.n)
        places = {"z": (0, self.p), "x": (inner, self.p), "dt": (dt_at, 1), "adt": (dt_at + heads, 1)}
        places |= {"trap": (dt_at + 2 * heads, 1), "angle": (dt_at + 3 * heads, 0)}
        for name, (column, head) in places.items():
            setattr(scan, name, Strided(pointer(self.projected[:, column:]), 0, self.pitch, head))
        for name in ("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o", "D"):
            setattr(scan, name, pointer(getattr(weights, name)))
        scan.out = Strided(pointer(self.readout), 0, inner, self.p)
        count = max(1, min(workers(), heads * -(-self.p // LANES)))
        sizes = ScanSizes()
        library().somamba_scan_sizes(ctypes.byref(scan), count, ctypes.byref(sizes))
        if self.scratch.numel() < sizes.forward + LANES:
            self.scratch = torch.empty(sizes.forward + LANES)
        scan.scratch, scan.carry = pointer(self.scratch), pointer(self.carry)
        scan.turns_in, scan.turns_out = (ctypes.cast(turns.data_ptr(), DOUBLES) for turns in self.turns)
        return scan, count
