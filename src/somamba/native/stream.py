"""The ownership block for inference, compiled: pieces of the token sequence go through it one after another."""

import ctypes
from collections.abc import Mapping

import torch
from torch import Tensor

from somamba.native import depthwise
from somamba.native.library import constants, library, workers
from somamba.native.product import packed
from somamba.native.structures import Interface, ScanCall, ScanSizes, Stream, Strided, pointer
from somamba.native.weights import StreamWeights

PIECE = 512
"""Tokens of a piece: its buffers stay in the cache, and its products are large enough to run at full speed."""


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
    tokens = features.shape[1] * features.shape[2]
    out = torch.empty(features.shape)
    block = Block(weights, 1, min(piece, tokens), lead=1, half=half)
    sizes = block.sizes
    tiles, blocks = -(-sizes.p // constants().lanes), -(-sizes.n // constants().lanes)
    carry = torch.empty(sizes.heads * tiles * blocks * constants().lanes ** 2)
    turns = torch.empty(2, sizes.heads * max(sizes.angles, 1), dtype=torch.float64)
    block.call.scan.carry = pointer(carry)
    block.call.scan.turns_in, block.call.scan.turns_out = map(pointer, turns)
    for image in range(features.shape[0]):
        # The state starts from zero.
        carry.zero_()
        turns.zero_()
        one = slice(image, image + 1)
        call = block.describe(features[one], content[one], evidence[one], out[one])
        library().somamba_stream(ctypes.byref(call), workers(), block.scan_workers)
    return out


class Sizes:
    """What the shapes of the weights say."""

    def __init__(self, weights: StreamWeights) -> None:
        self.columns, self.width = weights.project.shape
        self.heads, self.rank, self.n = weights.B_bias.shape
        self.p, self.groups = weights.mimo_x.shape[-1], weights.groups
        self.vectors = self.rank * self.groups
        self.wide, self.inner = self.vectors * self.n, self.heads * self.p
        self.dt_at = 2 * self.inner + 2 * self.wide
        self.angles = self.columns - self.dt_at - 3 * self.heads
        self.pitch = -(-self.columns // constants().lanes) * constants().lanes
        self.hidden = weights.access.reduce[0].shape[0] if weights.access else 0
        self.channels = weights.merge[0].shape[0]


class Block:
    """A call of the compiled block, and the tensors that it points into: weights and what its steps hand on."""

    def __init__(
        self,
        weights: StreamWeights,
        images: int,
        tokens: int,
        *,
        lead: int = 0,
        half: bool = False,
        kept: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Make the buffers.

        Args:
            weights: Of the block.
            images: How many there are at a time.
            tokens: Of each of them.
            lead: Rows for tokens that came before.
            half: Whether products take bfloat16.
            kept: Buffers of a forward pass, by name, for the way back: the others are made here, and weights of the
                way forth are not packed.
        """
        self.weights, self.sizes = weights, (sizes := Sizes(weights))
        self.images, self.tokens, self.lead = images, tokens, lead
        rows = images * tokens
        self.normed = torch.empty(workers(), constants().chunk, sizes.width)
        shapes = {"projected": (rows + lead, sizes.pitch), "hidden": (rows, sizes.hidden)}
        shapes |= dict.fromkeys(("B", "C"), (rows + lead, sizes.wide))
        buffers = {name: torch.empty(shape) for name, shape in shapes.items() if not kept or name not in kept}
        buffers |= kept or {}
        self.projected, self.hidden, self.B, self.C = (buffers[name] for name in shapes)
        self.readout = torch.empty(rows + lead, sizes.inner)
        self.modulation = torch.empty(workers() * constants().rows_abreast * 4 * sizes.wide)
        self.no_modulation = torch.zeros(0 if weights.access else 4 * sizes.wide)
        self.packed = [] if kept else self._pack(half=half)
        wide = sizes.inner + sizes.inner % 2 + sizes.width + sizes.width % 2
        # An empty tensor lies at 0: products are taken in float32.
        self.halved = torch.empty(workers() * constants().chunk if half else 0, wide, dtype=torch.bfloat16)
        self.call = call = Stream(
            piece=rows, width=sizes.width, channels=sizes.channels, heads=sizes.heads,
            columns=sizes.columns, pitch=sizes.pitch, dt_at=sizes.dt_at, decay_at=sizes.dt_at + sizes.heads,
            hidden_size=sizes.hidden, inner=sizes.inner, norm_eps=weights.norm_eps, decay_floor=weights.decay_floor,
            decay_softplus=weights.decay_softplus, halved=pointer(self.halved), interface=self._interface(),
        )  # fmt: skip
        call.scan, self.scan_workers, self.scan_sizes = self._scan()
        for name in ("projected", "readout"):
            setattr(call, name, pointer(getattr(self, name)[lead:]))
        call.normed, call.hidden, call.merge_bias = map(pointer, (self.normed, self.hidden, weights.merge[1]))
        call.content_weight, call.content_bias = map(pointer, weights.content_norm)
        call.dt_bias = pointer(weights.dt_bias)
        for name in ("gate", "token_gate"):
            setattr(call, name, None if (gate := getattr(weights, name)) is None else pointer(gate))
        for name, weight in zip(("project", "merge", "reduce"), self.packed, strict=False):
            setattr(call, f"{name}_weight", pointer(weight))
        if weights.access:
            call.evidence_weight, call.evidence_bias = map(pointer, weights.access.norm)
            call.reduce_bias = pointer(weights.access.reduce[1])

    def _pack(self, *, half: bool) -> list[Tensor]:
        """The weights of a forward pass: projection, merge and, if G modulates, its first layer."""
        weights, read = self.weights, self.weights.merge[0]
        linear = [(weights.project,), (read,) if weights.outlet is None else (read, weights.outlet[2])]
        linear += [(weights.access.reduce[0],)] if weights.access else []
        return [packed(*parts, half=half) for parts in linear]

    def describe(self, features: Tensor, content: Tensor, evidence: Tensor, out: Tensor) -> Stream:
        """The call for some images.

        Args:
            features: The features.
            content: L.
            evidence: G.
            out: Where the result goes.
        """
        call, (batch, height, width, _) = self.call, features.shape
        call.tokens = batch * height * width
        call.content, call.evidence, call.features, call.out = map(pointer, (content, evidence, features, out))
        if self.weights.outlet:
            call.outlet, self.filter = depthwise.describe(evidence, *self.weights.outlet[:2])
        else:
            call.outlet.batch, call.outlet.height, call.outlet.width = batch, height, width
        return call

    def _interface(self) -> Interface:
        sizes, weights, access = self.sizes, self.weights, self.weights.access
        rows = self.projected[self.lead :]
        call = Interface(
            self.images * self.tokens, sizes.vectors, sizes.n, pointer(rows[:, 2 * sizes.inner :]),
            pointer(rows[:, 2 * sizes.inner + sizes.wide :]), sizes.pitch, sizes.pitch, pointer(weights.B_norm),
            pointer(weights.C_norm), sizes.hidden, sizes.hidden, pointer(self.hidden), eps=weights.interface_eps,
            B_out=pointer(self.B[self.lead :]), C_out=pointer(self.C[self.lead :]), scratch=pointer(self.modulation),
        )  # fmt: skip
        if access is None:
            call.bias = pointer(self.no_modulation)
            return call
        self.modulate = access.modulate[0].t().contiguous()
        call.weight, call.bias = pointer(self.modulate), pointer(access.modulate[1])
        call.scale, call.shift = map(float, access.strengths)
        return call

    def _scan(self) -> tuple[ScanCall, int, ScanSizes]:
        sizes, heads, tokens = self.sizes, self.sizes.heads, self.tokens + self.lead
        scan = ScanCall(self.images, tokens, heads, sizes.p, sizes.n, sizes.rank, sizes.groups, sizes.angles)
        scan.advance = tokens
        for name, buffer in (("C", self.C), ("B", self.B)):
            setattr(scan, name, Strided(pointer(buffer), tokens * sizes.wide, sizes.wide, sizes.n))
            setattr(scan, f"{name}_rank", sizes.groups * sizes.n)
        for name, (column, head) in self.places().items():
            part = self.projected[:, column:]
            setattr(scan, name, Strided(pointer(part), tokens * sizes.pitch, sizes.pitch, head))
        for name in ("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o", "D"):
            setattr(scan, name, pointer(getattr(self.weights, name)))
        scan.out = Strided(pointer(self.readout), tokens * sizes.inner, sizes.inner, sizes.p)
        count = max(1, min(workers(), self.images * heads * -(-sizes.p // constants().lanes)))
        needed = ScanSizes()
        library().somamba_scan_sizes(ctypes.byref(scan), count, ctypes.byref(needed))
        self.scratch = torch.empty(needed.forward + constants().lanes)
        scan.scratch = pointer(self.scratch)
        return scan, count, needed

    def places(self) -> dict[str, tuple[int, int]]:
        """The places in a projected row at which the arguments of the scan start, and the distance of its heads."""
        sizes, heads = self.sizes, self.sizes.heads
        steps = {"dt": (sizes.dt_at, 1), "adt": (sizes.dt_at + heads, 1), "trap": (sizes.dt_at + 2 * heads, 1)}
        wide = {"z": (0, sizes.p), "x": (sizes.inner, sizes.p)}
        return wide | steps | {"angle": (sizes.dt_at + 3 * heads, 0)}
