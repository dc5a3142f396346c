"""Which axis of an array of k-space is what: named by the user, or found from its shape and from where its energy is.

Energy lies around the zero frequency along y and x, in the middle or in the corners, and is spread over coils. That
tells ``(coils, y, x)`` from ``(y, x, coils)``. Slices and coils look alike, so they are told by their order.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.errors import ConfigError, DataError

AXES = ("slices", "coils", "y", "x")
USUAL = {2: ("y", "x"), 3: ("coils", "y", "x"), 4: ("slices", "coils", "y", "x")}
MAPS_ORDERS = (*(USUAL[n] for n in (3, 4)), ("y", "x", "coils"), ("slices", "y", "x", "coils"))
"""The orders in which coil maps are looked for."""
MOST_COILS = 64
"""If it has more entries than this, the first of three axes is taken for slices: few receivers have more coils."""
CLEARLY = 1.5
"""The energy must be this many times more concentrated for an unusual order to be believed."""


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
