"""A unit with gradients, compiled: one operator to autograd.

The forward pass keeps what cannot be made again cheaply: both streams, what the scan takes, and its state every few
tokens. Norms, filters, modulation and read-out are made again on the way back.
"""

import ctypes
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from somamba.native.library import constants, library, workers
from somamba.native.product import packed
from somamba.native.route import bordered, route, route_backward
from somamba.native.stream import Block
from somamba.native.structures import ScanGradient, StreamGradient, StreamSizes, Strided, pointer
from somamba.native.weights import RouteWeights, StreamWeights, fold, leaves, with_leaves

REMEMBERED = 1 << 14
"""Up to this many tokens, B and C are kept as the scan took them, 1 KB for each token; of more they are made again."""


def train_unit(features: Tensor, router: RouteWeights, block: StreamWeights) -> Tensor:
    """``X + Y`` of a unit, differentiable once in the features and in all weights.

    Args:
        features: ``(batch, y, x, channels)``, like all weights float32 and on the CPU.
        router: Parameters of norm and router.
        block: Parameters of the ownership block.
    """
    return _Unit.apply(features, router, block, *leaves(router), *leaves(block))  # type: ignore[no-untyped-call]


class _Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, router: RouteWeights, block: StreamWeights, *tensors: Tensor) -> Tensor:
        ctx.routed = len(leaves(router))
        tensors = tuple(tensor.contiguous() for tensor in tensors)
        features = features.contiguous()
        router, block = with_leaves(router, tensors[: ctx.routed]), with_leaves(block, tensors[ctx.routed :])
        out, kept = _forward(features, router, block)
        ctx.records = router, block
        ctx.save_for_backward(features, *kept, *tensors)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors  # once: recomputation hands them out only once
        (features, of_features, *kept), tensors = saved[:12], saved[12:]
        router, block = ctx.records
        router, block = with_leaves(router, tensors[: ctx.routed]), with_leaves(block, tensors[ctx.routed :])
        dout = dout.contiguous()
        dcarrier, devidence, of_block = _block_backward(dout, features, kept, block)
        dfeatures, of_router = route_backward(dout, dcarrier, devidence, features, of_features, router)
        return dfeatures, None, None, *of_router, *of_block  # autograd leaves out those of weights that are frozen


def _forward(features: Tensor, router: RouteWeights, weights: StreamWeights) -> tuple[Tensor, tuple[Tensor, ...]]:
    batch, height, width, _ = features.shape
    of_features, of_streams = torch.empty(batch, height, width, 2), torch.empty(2, batch * height * width, 2)
    carrier, evidence = route(features, router, kept=of_features)
    block, out = Block(weights, batch, height * width), torch.empty(features.shape)
    raw, reduced = torch.empty(batch * height * width, 2 * block.sizes.heads), torch.empty(block.hidden.shape)
    boundary = torch.empty(block.scan_sizes.boundary)
    turns = torch.empty(block.scan_sizes.turns, dtype=torch.float64)
    call = block.describe(features, carrier, evidence, out)
    call.raw, call.reduced = pointer(raw), pointer(reduced)
    call.content_kept, call.evidence_kept = map(pointer, of_streams)
    call.scan.boundary, call.scan.turns = pointer(boundary), pointer(turns)
    library().somamba_stream_training(ctypes.byref(call), workers(), block.scan_workers)
    interfaces = (block.B, block.C) if batch * height * width <= REMEMBERED else (torch.empty(0), torch.empty(0))
    streams = (carrier, evidence, of_streams, block.projected, *interfaces)
    return out, (of_features, *streams, raw, reduced, boundary, turns)


def _block_backward(
    dout: Tensor, features: Tensor, kept: list[Tensor], weights: StreamWeights
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """The gradients of both streams, as `route_backward` takes them, and of the weights in the order of `leaves`."""
    carrier, evidence, of_streams, projected, B, C, raw, reduced, boundary, turns = kept
    batch, height, width, _ = features.shape
    remembered = {"B": B, "C": C} if B.numel() else {"hidden": torch.nn.functional.silu(reduced)}
    block = Block(weights, batch, height * width, kept={"projected": projected} | remembered)
    call = block.describe(features, carrier, evidence, features)
    if not B.numel():
        library().somamba_interface_forward(ctypes.byref(call.interface), workers())
    call.raw, call.reduced = pointer(raw), pointer(reduced)
    call.content_kept, call.evidence_kept = map(pointer, of_streams)
    scratch = torch.empty(block.scan_sizes.backward + constants().lanes)
    call.scan.boundary, call.scan.turns, call.scan.scratch = pointer(boundary), pointer(turns), pointer(scratch)
    adjoint = _Adjoint(dout, block, (height, width))
    library().somamba_stream_backward(
        ctypes.byref(call), ctypes.byref(adjoint.call), ctypes.byref(adjoint.scan), workers(), block.scan_workers
    )
    return adjoint.dcontent, adjoint.devidence, adjoint.gradients()


class _Adjoint:
    """The gradients that the backward pass of a block makes, and the tensors on its way."""

    def __init__(self, dout: Tensor, block: Block, size: tuple[int, int]) -> None:
        self.block, sizes, weights = block, block.sizes, block.weights
        images, rows = block.images, block.images * block.tokens
        needed = StreamSizes()
        library().somamba_stream_sizes(ctypes.byref(block.call), ctypes.byref(needed))
        self.sums, self.scratch = torch.zeros(workers(), needed.sums), torch.empty(workers(), needed.backward)
        # The scan reads the gradient of a token's read-out once and writes the read-out, made again, in its place.
        self.dreadout = block.readout
        self.dprojected = torch.empty(rows, sizes.pitch)
        self.dcontent, self.devidence = (torch.empty(images, *size, sizes.width) for _ in range(2))
        self.dfiltered = bordered(images if weights.outlet else 0, *size, sizes.width)
        self.dB, self.dC = torch.empty(rows, sizes.wide), torch.empty(rows, sizes.wide)
        self.steps = [torch.empty(rows, sizes.heads) for _ in range(3)]
        self.dangle = torch.empty(rows, sizes.heads * sizes.angles)
        self.call = StreamGradient(dout=pointer(dout))
        self.packed = self._pack(weights)
        for name, weight in self.packed.items():
            setattr(self.call, f"{name}_weight", pointer(weight))
        for name in ("dreadout", "dfiltered", "dprojected", "dB", "dC", "dangle", "dcontent", "devidence"):
            setattr(self.call, name, pointer(getattr(self, name)))
        self.call.readout = pointer(block.readout)
        self.call.ddt, self.call.dadt, self.call.dtrap = map(pointer, self.steps)
        self.call.sums, self.call.scratch = pointer(self.sums), pointer(self.scratch)
        self.scan = self._scan()

    @staticmethod
    def _pack(weights: StreamWeights) -> dict[str, Tensor]:
        turned = {"read": weights.merge[0], "project": weights.project}
        if weights.outlet:
            turned["refine"] = weights.outlet[2]
        parts = {name: packed(weight.t()) for name, weight in turned.items()}
        if weights.access:
            modulate = weights.access.modulate[0]
            parts |= {"modulation": packed(modulate), "modulate": packed(modulate.t())}
            parts["reduce"] = packed(weights.access.reduce[0].t())
        return parts

    def _scan(self) -> ScanGradient:
        sizes, block = self.block.sizes, self.block
        names = ("C_bias", "B_bias", "mimo_x", "mimo_z", "mimo_o", "D")
        self.of_scan: dict[str, Any] = {name: torch.empty(getattr(block.weights, name).shape) for name in names}
        self.partial = torch.empty(block.scan_sizes.partial)
        tokens = block.tokens
        scan = ScanGradient(dout=Strided(pointer(self.dreadout), tokens * sizes.inner, sizes.inner, sizes.p))
        scan.readout = Strided(pointer(block.readout), tokens * sizes.inner, sizes.inner, sizes.p)
        for name in ("x", "z"):
            column, head = block.places()[name]
            part = self.dprojected[:, column:]
            setattr(scan, name, Strided(pointer(part), tokens * sizes.pitch, sizes.pitch, head))
        scan.C, scan.B, scan.angle = map(pointer, (self.dC, self.dB, self.dangle))
        scan.dt, scan.adt, scan.trap = map(pointer, self.steps)
        for name, gradient in self.of_scan.items():
            setattr(scan, name, pointer(gradient))
        scan.partial = pointer(self.partial)
        return scan

    def gradients(self) -> list[Tensor]:
        """Return the gradients of all weights, in the order of `leaves`."""
        sizes, weights = self.block.sizes, self.block.weights
        width, channels, hidden, modulation = sizes.width, sizes.channels, sizes.hidden, 4 * sizes.wide
        shapes = [(channels, sizes.inner), (channels, width), (channels,), (sizes.pitch, width), (sizes.heads,)]
        shapes += [(hidden, modulation), (modulation,), (hidden, width), (hidden,)]
        shapes += [(width,), (width,), (width,), (width,), (2 * sizes.n + 2,), (10, width), (width,), (width,)]
        (
            read, refine, merge_bias, project, dt_bias, modulate, modulate_bias, reduce, reduce_bias, content_weight,
            content_bias, evidence_weight, evidence_bias, interface, outlet, gate, token_gate,
        ) = fold(self.sums, shapes)  # fmt: skip
        B_norm, C_norm, scale, shift = interface.split([sizes.n, sizes.n, 1, 1])
        of_access = of_outlet = None
        if weights.access:
            of_access = replace(
                weights.access, norm=(evidence_weight, evidence_bias), reduce=(reduce, reduce_bias),
                modulate=(modulate.t(), modulate_bias), strengths=(scale.view(()), shift.view(())),
            )  # fmt: skip
        if weights.outlet:
            of_outlet = (outlet[:9].t().reshape(weights.outlet[0].shape), outlet[9], refine)
        record = replace(
            weights, content_norm=(content_weight, content_bias), gate=None if weights.gate is None else gate,
            token_gate=None if weights.token_gate is None else token_gate,
            project=project[: sizes.columns], dt_bias=dt_bias,
            B_norm=B_norm, C_norm=C_norm, access=of_access, outlet=of_outlet, merge=(read, merge_bias), **self.of_scan,
        )  # fmt: skip
        return leaves(record)
