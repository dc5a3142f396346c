"""Which samples of k-space are acquired: column masks and radial masks on the Cartesian grid, centred.

Every mask of a kind is a pure function of its numbers (and a seed), so naming the numbers names the mask;
`SamplingMask.digest` proves that two machines mean the same one.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.sampling_mask import SamplingMask
from somamba.registry import Registry

CENTER_SHARE = 0.32
"""The default centre holds this share of all acquired columns: centre fraction 0.32 / acceleration."""

PAPER_OFFSETS: dict[tuple[int, int | float], int] = {(320, 4): 0, (320, 8): 5, (256, 4): 4, (256, 8): 5}
"""First column of the fixed equispaced masks behind the paper's tables, by (width, acceleration)."""

GOLDEN_ANGLE = 111.246117975
"""Degrees between two spokes: 180 divided by the golden ratio."""


def equispaced(
    width: int, acceleration: int | float, *, offset: int | None = None, center_fraction: int | float | None = None
) -> SamplingMask:
    """Every a-th column plus a full centre, a chosen so that both together give the acceleration.

    Args:
        width: Columns of k-space.
        acceleration: Nominal factor; 1 acquires every column.
        offset: First column; None is the paper's for (width, acceleration) in `PAPER_OFFSETS`, else 0.
        center_fraction: Share of columns in the centre; None is 0.32 / acceleration.

    Raises:
        InputError: the numbers describe no such mask.

    Examples:
        >>> import somamba
        >>> mask = somamba.masks.equispaced(320, acceleration=4)
        >>> len(mask.lines), mask.calibration, mask.realised_acceleration
        (80, 26, 4.0)
    """
    _check_request(width, acceleration)
    center = _center_columns(width, acceleration, center_fraction)
    n_low = len(center)
    if not n_low * acceleration < width:
        raise InputError(
            f"A centre of {n_low} of {width} columns already uses up acceleration {acceleration:g}. "
            f"{_at_most(math.ceil(width / acceleration) - 1, width)}"
        )
    spacing = acceleration * (n_low - width) / (n_low * acceleration - width)
    if offset is None:
        offset = PAPER_OFFSETS.get((width, acceleration), 0)
    if not 0 <= offset < spacing:
        raise InputError(f"offset={offset} is not within one spacing of the columns, 0 <= offset < {spacing:.4g}.")
    columns = np.around(np.arange(offset, width - 1, spacing)).astype(int).tolist()
    if acceleration == 1:
        columns = list(range(width))  # The formula stops one short of the last column.
    return SamplingMask(_columns(width, [*columns, *center]), "equispaced", acceleration)


def random_columns(
    width: int, acceleration: int | float, *, seed: int, center_fraction: int | float | None = None
) -> SamplingMask:
    """Exactly ``round(width / acceleration)`` columns: a full centre, the rest drawn uniformly.

    The draw uses numpy's legacy generator, whose stream is promised never to change: a seed names a mask for good.

    Args:
        width: Columns of k-space.
        acceleration: Nominal factor; 1 acquires every column.
        seed: Names the draw, from 0 to 2**32 - 1.
        center_fraction: Share of columns in the centre; None is 0.32 / acceleration.

    Raises:
        InputError: the numbers describe no such mask.

    Examples:
        >>> import somamba
        >>> mask = somamba.masks.random_columns(224, acceleration=8, seed=0)
        >>> len(mask.lines), mask.digest == somamba.masks.random_columns(224, acceleration=8, seed=0).digest
        (28, True)
    """
    _check_request(width, acceleration)
    if not 0 <= seed < 2**32:
        raise InputError(f"seed={seed} is not a whole number from 0 to 2**32 - 1.")
    center = _center_columns(width, acceleration, center_fraction)
    n_lines = round(width / acceleration)
    if len(center) > n_lines:
        raise InputError(
            f"A centre of {len(center)} columns is wider than the {n_lines} of {width} that acceleration "
            f"{acceleration:g} allows. {_at_most(n_lines, width)}"
        )
    outer = np.setdiff1d(np.arange(width), center)
    drawn = np.random.RandomState(seed).permutation(outer)[: n_lines - len(center)]
    return SamplingMask(_columns(width, [*drawn.tolist(), *center]), "random", acceleration)


def golden_radial(size: int | tuple[int, int], spokes: int) -> SamplingMask:
    """Spokes through the centre, each turned by the golden angle, rounded to the grid.

    Args:
        size: Rows and columns of k-space, (y, x), or one number for both.
        spokes: Number of spokes, at least 1.

    Examples:
        >>> import somamba
        >>> mask = somamba.masks.golden_radial(128, spokes=32)
        >>> tuple(mask.tensor().shape), round(mask.realised_acceleration, 2)
        ((1, 1, 128, 128), 4.07)
    """
    return _radial("golden-radial", size, [spoke * GOLDEN_ANGLE for spoke in range(spokes)])


def uniform_radial(size: int | tuple[int, int], spokes: int) -> SamplingMask:
    """Spokes through the centre at equal angles, rounded to the grid.

    Args:
        size: Rows and columns of k-space, (y, x), or one number for both.
        spokes: Number of spokes, at least 1.

    Examples:
        >>> import somamba
        >>> mask = somamba.masks.uniform_radial(128, spokes=32)
        >>> tuple(mask.tensor().shape), round(mask.realised_acceleration, 2)
        ((1, 1, 128, 128), 4.09)
    """
    return _radial("uniform-radial", size, [spoke * 180 / spokes for spoke in range(spokes)])


class MaskKind(NamedTuple):
    """How a kind of mask is made from a shape (y, x), an acceleration and a seed, and which options it has besides."""

    make: Callable[..., SamplingMask]
    options: tuple[str, ...]


MASKS = Registry(
    "mask",
    {
        "equispaced": MaskKind(
            lambda shape, acceleration, _seed, **options: equispaced(shape[1], acceleration, **options),
            options=("offset", "center_fraction"),
        ),
        "random": MaskKind(
            lambda shape, acceleration, seed, **options: random_columns(shape[1], acceleration, seed=seed, **options),
            options=("center_fraction",),
        ),
        "golden-radial": MaskKind(
            lambda shape, acceleration, _seed, **options: _spokes_for(golden_radial, shape, acceleration, **options),
            options=("spokes",),
        ),
        "uniform-radial": MaskKind(
            lambda shape, acceleration, _seed, **options: _spokes_for(uniform_radial, shape, acceleration, **options),
            options=("spokes",),
        ),
    },
)


def make_mask(
    kind: str, *, shape: tuple[int, int], acceleration: int | float, seed: int = 0, **options: Any
) -> SamplingMask:
    """Make a mask of a kind named in `MASKS` for k-space of ``shape`` (y, x).

    Args:
        kind: ``equispaced``, ``random``, ``golden-radial`` or ``uniform-radial``.
        shape: Rows and columns of k-space.
        acceleration: Nominal factor. Radial masks take ``round(sqrt(y * x) / acceleration)`` spokes: 32 at 4x on 128².
        seed: Names the draw; only ``random`` draws.
        options: ``offset``, ``center_fraction`` or ``spokes``, if the kind has them.

    Raises:
        UnknownNameError: no kind has this name.
        InputError: the kind has no such option, or the numbers describe no such mask.
    """
    maker = MASKS[kind]
    if unknown := sorted(set(options) - set(maker.options)):
        raise InputError(f"Mask {kind!r} has no option {unknown[0]!r}; it has: {', '.join(maker.options)}.")
    return maker.make(shape, acceleration, seed, **options)


def _spokes_for(
    make: Callable[[tuple[int, int], int], SamplingMask],
    shape: tuple[int, int],
    acceleration: int | float,
    spokes: int | None = None,
) -> SamplingMask:
    """A radial mask by acceleration, unless the number of spokes is given."""
    _check_request(min(shape), acceleration)
    if spokes is not None:
        return make(shape, spokes)
    return replace(make(shape, max(1, round(math.sqrt(math.prod(shape)) / acceleration))), acceleration=acceleration)


def _radial(kind: str, size: int | tuple[int, int], angles: list[float]) -> SamplingMask:
    """Mark the grid point nearest to every unit step on both halves of each spoke, up to the edge of the grid."""
    height, width = (size, size) if isinstance(size, int) else size
    if min(height, width) < 2 or not angles:
        raise InputError(
            f"A radial mask needs a grid of at least 2x2 and at least 1 spoke, got {height}x{width} and {len(angles)}."
        )
    steps = np.arange(math.ceil(math.hypot(height, width) / 2) + 1, dtype=np.float64)
    steps = np.concatenate((-steps, steps))
    radians = np.deg2rad(angles)
    y = _nearest(np.outer(np.sin(radians), steps)) + height // 2
    x = _nearest(np.outer(np.cos(radians), steps)) + width // 2
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    pattern = torch.zeros(height, width, dtype=torch.bool)
    pattern[y[inside], x[inside]] = True
    return SamplingMask(pattern, kind, math.sqrt(height * width) / len(angles))


def _nearest(values: NDArray[np.float64]) -> NDArray[np.int64]:
    # Halves go outwards, and with a margin, so that neither the sign nor the last bit of a sine decides.
    return (np.sign(values) * np.floor(np.abs(values) + 0.5 + 1e-9)).astype(np.int64)


def _check_request(width: int, acceleration: int | float) -> None:
    if not acceleration >= 1:
        raise InputError(f"acceleration={acceleration:g} is below 1, the acceleration of full sampling.")
    if not width >= 2 * acceleration:
        raise InputError(f"{width} columns are too few for acceleration {acceleration:g}: fewer than 2 would be left.")


def _center_columns(width: int, acceleration: int | float, fraction: int | float | None) -> range:
    """The columns of the fully acquired centre."""
    if fraction is None:
        fraction = CENTER_SHARE / acceleration
    elif not 0 <= fraction <= 1:
        raise InputError(f"center_fraction={fraction:g} is not a share of the columns, 0 to 1.")
    n_low = round(width * fraction)
    start = (width - n_low + 1) // 2
    return range(start, start + n_low)


def _at_most(columns: int, width: int) -> str:
    """The advice for a centre that is too wide, in columns as well as in their share: callers name either."""
    return f"Choose at most {columns} calibration columns, a center_fraction of up to {columns / width:.3g}."


def _columns(width: int, columns: list[int]) -> Tensor:
    pattern = torch.zeros(1, width, dtype=torch.bool)
    pattern[0, columns] = True
    return pattern
