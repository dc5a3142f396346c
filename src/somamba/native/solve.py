"""Conjugate gradients for coil images of which whole columns are acquired: one compiled loop with its own buffers."""

import ctypes
import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from somamba.native.library import constants, library, workers
from somamba.native.structures import Solve, Transform, pointer


class LineSolver:
    """Solves ``(S^H F^H M F S + s) d = r`` for maps S and a mask M of whole columns, or weights of them."""

    def __init__(self, mask: Tensor, maps: Tensor) -> None:
        """Bring the maps into the order of the kernel: sixteen image rows side by side.

        Args:
            mask: Boolean, or weights, (batch or 1, 1, 1, x), centred like k-space, for a width of which `radices` knows
                the factors.
            maps: Sensitivities (batch or 1, coils, y, x), complex64 and on the CPU.
        """
        _, coils, height, width = maps.shape
        self.tables, self.maps = _tables(width), maps.resolve_conj().contiguous()
        kept = torch.fft.ifftshift(mask[:, 0, 0].to(torch.float32), dim=-1) / width
        self.keep = kept[:, self.tables.order].contiguous()
        lanes = constants().lanes
        self.blocks = -(-height // lanes)
        self.packed = torch.empty(maps.shape[0], coils, self.blocks, width, 2, lanes)
        for i in range(maps.shape[0]):
            call = self._call(i)
            library().somamba_solve_pack(ctypes.byref(call), workers())

    def __call__(self, right: Tensor, strengths: Tensor, iterations: int, tolerance: float) -> tuple[Tensor, int]:
        """The solution, and how many iterations the slice took that needed most of them.

        Args:
            right: ``r``, complex64 (batch, 1, y, x).
            strengths: ``s`` of each slice, positive, of (batch,) or fewer axes.
            iterations: The most iterations of a slice.
            tolerance: A slice stops at this residual, relative to its first one.
        """
        residual = self._in_blocks(right)
        solution = torch.zeros_like(residual)
        direction, applied = torch.empty_like(residual[0]), torch.empty_like(residual[0])
        limits, most = (ctypes.c_int64(iterations), ctypes.c_double(tolerance)), 0
        for i, strength in enumerate(strengths.expand(right.shape[0]).tolist()):
            call, _buffers = self._working_call(i, residual[i], direction.zero_(), applied.zero_())
            call.solution, call.strength = pointer(solution[i]), strength
            most = max(most, library().somamba_solve(ctypes.byref(call), *limits, workers()))
        return self._as_image(solution), most

    def gram(self, image: Tensor) -> Tensor:
        """``S^H F^H M F S`` of images, complex64 (batch, 1, y, x)."""
        blocks = self._in_blocks(image)
        direction, applied = torch.zeros_like(blocks), torch.empty_like(blocks)
        for i in range(image.shape[0]):
            call, _buffers = self._working_call(i, blocks[i], direction[i], applied[i])
            library().somamba_solve_gram(ctypes.byref(call), workers())
        return self._as_image(applied)

    def _in_blocks(self, image: Tensor) -> Tensor:
        """Images in blocks of sixteen rows, (batch, blocks, x, 2, 16); rows beyond the image are zero."""
        lanes = constants().lanes
        spare = self.blocks * lanes - image.shape[2]
        rows = torch.nn.functional.pad(torch.view_as_real(image.resolve_conj()[:, 0]), (0, 0, 0, 0, 0, spare))
        return rows.unflatten(1, (self.blocks, lanes)).permute(0, 1, 3, 4, 2).contiguous()

    def _as_image(self, blocks: Tensor) -> Tensor:
        rows = blocks.permute(0, 1, 4, 2, 3).flatten(1, 2)
        return torch.view_as_complex(rows[:, None, : self.maps.shape[2]].contiguous())

    def _working_call(
        self, slice_: int, residual: Tensor, direction: Tensor, applied: Tensor
    ) -> tuple[Solve, tuple[Tensor, Tensor]]:
        """The call for one slice with these images, and the buffers that must outlive it."""
        lines = torch.empty(workers(), self.maps.shape[3], 2, constants().lanes)
        sums = torch.zeros(workers(), dtype=torch.float64)
        call = self._call(slice_)
        call.residual, call.direction, call.applied = map(pointer, (residual, direction, applied))
        call.lines, call.sums = pointer(lines), pointer(sums)
        return call, (lines, sums)

    def _call(self, slice_: int) -> Solve:
        """The call for one slice, without the images."""
        i, (_, coils, height, _) = slice_ % self.maps.shape[0], self.maps.shape
        call = Solve(coils, height, self.blocks, self.tables.transform())
        call.keep = pointer(self.keep[slice_ % self.keep.shape[0]])
        call.maps, call.packed = pointer(torch.view_as_real(self.maps[i])), pointer(self.packed[i])
        return call


def radices(width: int) -> list[int] | None:
    """The factors of a width, fours first, or None if one of them is a prime that the kernels do not take."""
    found = []
    for radix in (4, 2, *range(3, constants().largest_radix + 1, 2)):
        while width % radix == 0:
            found.append(radix)
            width //= radix
    return found if width == 1 else None


@dataclass(frozen=True)
class _Tables:
    """What a Fourier transform of one width needs."""

    width: int
    radices: Tensor
    twiddles: Tensor
    roots: Tensor
    order: Tensor
    """The frequencies, in the order in which the transform leaves them."""

    def transform(self) -> Transform:
        return Transform(
            self.width, len(self.radices), pointer(self.radices), pointer(self.twiddles), pointer(self.roots),
            self.twiddles.numel(), self.roots.numel(),
        )  # fmt: skip


@cache
def _tables(width: int) -> _Tables:
    factors = radices(width)
    if factors is None:
        raise ValueError(f"The kernels know no transform of {width} points; ask `radices` first.")
    twiddles, roots, part = [torch.empty(0)], [torch.empty(0)], width
    for radix in factors:
        step = part // radix
        turns = torch.arange(step)[:, None] * torch.arange(1, radix)
        twiddles.append(_units(turns, part))
        roots.append(_units(torch.arange(radix), radix))
        part = step
    order = torch.zeros(1, dtype=torch.int64)
    for radix in reversed(factors):
        order = (torch.arange(radix)[:, None] + radix * order).flatten()
    return _Tables(width, torch.tensor(factors), torch.cat(twiddles), torch.cat(roots), order)


def _units(turns: Tensor, of: int) -> Tensor:
    """``exp(-2 pi i turns / of)`` as pairs, rounded once."""
    angles = -2 * math.pi * (turns % of).double() / of
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float().flatten()
