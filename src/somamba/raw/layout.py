"""How an array of k-space of unknown origin lies in memory: which axis is what, and how its plane has to be turned.

Axes are named by the user, or found from the shape and from where the energy is: it lies around the zero frequency
along y and x, in the middle or in the corners, and is spread over coils. That tells ``(coils, y, x)`` from
``(y, x, coils)``. Slices and coils look alike, so they are told by their order.

Programs also disagree on where the zero frequency and the middle of the image lie. Both can be seen: k-space has its
energy around the zero frequency, and people lie in the middle of the image.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import ConfigError, DataError
from somamba.physics.fourier import ifft2c
from somamba.raw.sampling import phase_encodes_rows

AXES = ("slices", "coils", "y", "x")
USUAL = {2: ("y", "x"), 3: ("coils", "y", "x"), 4: ("slices", "coils", "y", "x")}
MAPS_ORDERS = (*(USUAL[n] for n in (3, 4)), ("y", "x", "coils"), ("slices", "y", "x", "coils"))
"""The orders in which coil maps are looked for."""
MOST_COILS = 64
"""If it has more entries than this, the first of three axes is taken for slices: few receivers have more coils."""
CLEARLY = 1.5
"""The energy must be this many times more concentrated for an unusual order to be believed."""
YX = (-2, -1)
KSPACE_SHARE = 0.4
"""Share of the energy within a quarter of both axes: 0.8 to 0.99 in measured k-space, below 0.1 in images."""
ROLLED = {False: 4.0, True: 0.5}
"""An image is taken for rolled if `rolled_ratio` is above this, by whether the zero frequency is the first sample: then
programs mostly leave the image rolled, too. The ratio is above 30 in rolled heads, above 5 in hearts that fill the
view, and below 0.2 in others; an upright object that folds over along one axis has 0.03 to 2.6."""
UNCLEAR = (0.3, 5.0)
"""Between these ratios a note says that the middle of the image could not be told."""


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a user says about a file or an array; what is None is looked for."""

    axes: tuple[str, ...] | None = None
    """The axes of an array in their order, from slices, coils, y, x."""
    centred: bool | None = None
    """True: zero frequency and object are in the middle. False: the zero frequency is the first sample."""

    def __post_init__(self) -> None:
        if self.centred not in (None, True, False):
            raise ConfigError(f"centred={self.centred!r}; give True, False, or None to find it.")
        if self.axes is None:
            return
        if len(set(self.axes)) != len(self.axes) or not {"y", "x"} <= set(self.axes) <= set(AXES):
            raise ConfigError(
                f"axes {','.join(map(str, self.axes))!r} are not understood. Name each axis of the array once, in its "
                "order, from slices, coils, y, x; y and x must be there: for example y,x,coils."
            )


def find_axes(path: Path, shape: tuple[int, ...], read: Callable[[int, int], NDArray[np.complex64]]) -> tuple[str, ...]:
    """The axes of an array, in their order.

    Args:
        path: The file, for messages.
        shape: The shape of the array, without an axis of real and imaginary parts.
        read: Reads the array from one number of its first axis to another, as complex numbers. It is called only if
            the sizes allow another order than (slices, coils, y, x).

    Raises:
        DataError: the number of axes is wrong, or slices and coils cannot be told apart.
    """
    if len(shape) not in USUAL:
        raise DataError(f"{path}: k-space has 2 to 4 axes (slices, coils, y, x), this has shape {shape}.")
    if len(shape) > 2 and _coils_may_be_last(shape):
        plane = _clearest_plane(shape, read)
        if plane == (0, 1) and len(shape) == 4:
            if 1 not in shape[2:]:
                raise DataError(
                    f"{path}: the first two axes of {shape} are y and x; which of the others counts slices cannot be "
                    "told. Name them: --axes y,x,slices,coils or y,x,coils,slices (in Python axes=)."
                )
            return ("y", "x", "slices", "coils") if shape[2] == 1 else ("y", "x", "coils", "slices")
        if plane == (len(shape) - 3, len(shape) - 2):
            return (*("slices",)[: len(shape) - 3], "y", "x", "coils")
    if len(shape) == 3 and shape[0] > MOST_COILS:
        return "slices", "y", "x"
    return USUAL[len(shape)]


def maps_axes(shape: tuple[int, ...], sizes: Mapping[str, int], axes: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    """The axes of coil maps that belong to k-space of these sizes; None if no order fits.

    Args:
        shape: The shape of the maps.
        sizes: The size of the k-space along each of `AXES`.
        axes: The axes of the k-space in the order in which it is stored, if they are known: that order comes first.
    """
    without_slices = tuple(axis for axis in axes if axis != "slices")
    for order in (axes, without_slices, *MAPS_ORDERS):
        if len(order) == len(shape) and "coils" in order:
            found = dict(zip(order, shape, strict=True))
            if all(size == sizes[axis] or (axis == "slices" and size == 1) for axis, size in found.items()):
                return order
    return None


def _coils_may_be_last(shape: tuple[int, ...]) -> bool:
    """Whether the last axis is small enough to count coils, beside larger ones before it."""
    return shape[-1] <= MOST_COILS and shape[-1] < max(shape[:-1]) and min(shape) >= 1


def _clearest_plane(shape: tuple[int, ...], read: Callable[[int, int], NDArray[np.complex64]]) -> tuple[int, int]:
    """The pair of neighbouring axes with the most concentrated energy; the last pair unless another is clearer."""
    last = len(shape) - 2, len(shape) - 1
    planes = [last, (last[0] - 1, last[1] - 1)]
    start, stop = (0, shape[0]) if len(shape) == 3 else (shape[0] // 2, shape[0] // 2 + 1)
    if len(shape) == 4 and max(shape[2:]) <= MOST_COILS and min(shape[:2]) > max(shape[2:]):
        planes, (start, stop) = [*planes, (0, 1)], (0, shape[0])
    energy = np.abs(read(start, stop).astype(np.complex128)) ** 2
    shares = {plane: _concentration(energy.sum(axis=tuple({*range(len(shape))} - {*plane}))) for plane in planes}
    best = max(planes, key=lambda plane: shares[plane])
    return best if shares[best] > CLEARLY * shares[last] else last


def _concentration(energy: NDArray[np.float64]) -> float:
    """The share of the energy in the middle eighth of both axes, or in the corners, whichever is larger.

    It is relative to the share of the samples there, because a small axis has few samples to be concentrated in.
    """
    if min(energy.shape) < 2 or not energy.any():
        return 0.0
    halves = [max(1, size // 16) for size in energy.shape]
    window = tuple(slice(size // 2 - half, size // 2 + half) for size, half in zip(energy.shape, halves, strict=True))
    shares = [turned[window].sum() / energy.sum() for turned in (energy, np.fft.fftshift(energy))]
    return float(max(shares) * energy.size / energy[window].size)


@dataclass(frozen=True)
class Arrangement:
    """The three things that may have to be undone."""

    corner: bool = False
    """The zero frequency is the first sample, not the middle one."""
    rolled: bool = False
    """The image is rolled by half its size: its middle is in the corners."""
    transposed: bool = False
    """The phase encoding runs along y."""
    unclear: bool = False
    """Whether the image is rolled could not be told."""

    def apply(self, kspace: NDArray[np.complex64]) -> NDArray[np.complex64]:
        """Turn k-space (..., y, x); zeros stay exactly zero."""
        if self.corner:
            kspace = np.fft.fftshift(kspace, axes=YX)
        if self.rolled:
            for axis in YX:
                size = kspace.shape[axis]
                turns = np.exp(2j * np.pi * (np.arange(size) - size // 2) * (size // 2) / size)
                kspace = kspace * turns.astype(np.complex64).reshape((-1, 1) if axis == -2 else (1, -1))
        return np.ascontiguousarray(kspace.swapaxes(*YX) if self.transposed else kspace)

    def notes(self) -> list[str]:
        """What was undone, for people."""
        done = "rolled back" if self.rolled else "left as it is"
        told = {
            "The zero frequency was the first sample; it was moved to the middle.": self.corner,
            "The image was rolled by half its size; it was rolled back.": self.rolled and not self.unclear,
            f"Whether the image is rolled by half its size cannot be told, as the object fills it: it was {done}. If "
            "the picture is cut apart, store k-space with zero frequency and object in the middle, and say so: "
            "--centred (centred=True).": self.unclear,
            "Rows were left out, so the phase encoding runs along y: rows and columns were exchanged.": self.transposed,
        }
        return [note for note, applies in told.items() if applies]


def find_arrangement(
    kspace: NDArray[np.complex64], path: Path, *, centred: bool | None, may_be_rolled: bool
) -> Arrangement:
    """Find out how one slice (coils, y, x) has to be turned.

    Args:
        kspace: The slice, not all zero.
        path: Its file, for messages.
        centred: True if the user knows that zero frequency and image are in the middle, False if the zero frequency is
            the first sample; None to look.
        may_be_rolled: Whether the image of centred k-space may be rolled; it may always be if k-space is not centred.
    """
    energy = torch.from_numpy(np.square(np.abs(kspace.astype(np.complex128))).sum(axis=0))
    corner = not _found_centred(energy, path) if centred is None else not centred
    values = torch.from_numpy(Arrangement(corner=corner).apply(kspace))
    rolled = unclear = False
    if corner or (may_be_rolled and centred is None):
        scale = values.abs().max()
        ratio = rolled_ratio(ifft2c(values / scale).abs().square().sum(dim=0))
        rolled, unclear = ratio > ROLLED[corner], UNCLEAR[0] < ratio < UNCLEAR[1]
    return Arrangement(corner=corner, rolled=rolled, transposed=phase_encodes_rows(values), unclear=unclear)


def _found_centred(energy: Float[Tensor, "y x"], path: Path) -> bool:
    """Whether the energy lies in the middle, or in the corners; neither is no k-space."""
    middle, corners = (_share(_middle(turned, 1 / 4), energy) for turned in (energy, torch.fft.fftshift(energy)))
    if not max(middle, corners) >= KSPACE_SHARE:
        raise DataError(
            f"{path}: this does not look like k-space: {middle:.0%} of the energy is in the middle and {corners:.0%} "
            f"in the corners, where k-space has most of it; an image or coil maps look so. If it is k-space, say "
            "whether it is centred: --centred or --uncentred (centred=True or False)."
        )
    return middle >= corners


def rolled_ratio(image: Float[Tensor, "y x"]) -> float:
    """How much better an image looks rolled by half its size: energy in the middle, none at the border.

    Each axis is looked at by itself. If an object folds over along one axis, the other one still tells how it lies.

    Args:
        image: Energies, not negative.
    """
    return math.prod(_rolled_ratio_along(image.sum(dim=1 - axis)) for axis in (0, 1))


def _rolled_ratio_along(profile: Float[Tensor, " n"]) -> float:
    """The ratio of the energies in the middle half, times the ratio of the energies at the border."""
    size = len(profile)
    quarter, edge = size // 4, max(1, size // 16)
    # Less than this is rounding, which says nothing.
    profile = profile.clamp(min=1e-9 * float(profile.max()))
    rolled = torch.roll(profile, size // 2)
    middle, rolled_middle = (float(values[quarter : size - quarter].sum()) for values in (profile, rolled))
    border, rolled_border = (float(values[:edge].sum() + values[size - edge :].sum()) for values in (profile, rolled))
    return rolled_middle * border / (middle * rolled_border)


def _share(part: Float[Tensor, ""], energy: Float[Tensor, "y x"]) -> float:
    return float(part / energy.sum())


def _middle(energy: Float[Tensor, "y x"], share: float) -> Float[Tensor, ""]:
    """Sum over the middle of both axes, a share of each."""
    top, left = (int(size * (1 - share) / 2) for size in energy.shape)
    return energy[top : energy.shape[0] - top, left : energy.shape[1] - left].sum()
