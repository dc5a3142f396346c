"""Which samples were acquired, found from where k-space is exactly zero."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Complex
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.coils.maps import Region, calibration_region
from somamba.physics.sampling_mask import SamplingMask

WHOLE = 0.99
"""Lines that are acquired to this share count as whole: a measured sample may be exactly zero by chance."""

EXCHANGED = (
    "If they are lines of the phase encoding (partial Fourier) of an array, they are unknown: name its axes with x and "
    'y exchanged, as in --axes coils,x,y (in Python axes=("coils", "x", "y")).'
)
"""What to do if rows were not acquired and nothing else is missing: the data do not tell which axis is the readout."""


@dataclass(frozen=True, eq=False)
class SliceSampling:
    """What was acquired of one slice."""

    mask: SamplingMask
    """``(1, x)`` if whole columns were acquired, else ``(y, x)``."""
    span: Region
    """The rows and columns the scanner acquires at all; what lies outside is padding, or a partial acquisition."""
    calibration: Region | None
    """The fully acquired rectangle around the centre; None if the centre was not acquired."""
    kind: str
    """The pattern in words."""
    shape: tuple[int, int]
    """Rows and columns of the slice."""
    gapless_rows: bool
    """Whole columns were acquired, from one row to another without a gap: what a readout along y gives."""

    @property
    def acceleration(self) -> float:
        """All samples over acquired samples, within the span."""
        return self.mask.acceleration_over(rows=self.span.rows, columns=self.span.columns)

    @property
    def calibration_lines(self) -> int:
        """How many neighbouring columns around the centre are fully acquired."""
        return 0 if self.calibration is None else self.calibration.shape[1]

    @property
    def never_acquired(self) -> tuple[int, int]:
        """How many rows and columns at the edge the scanner did not acquire at all."""
        return self.shape[0] - self.span.shape[0], self.shape[1] - self.span.shape[1]

    @property
    def columns(self) -> Bool[Tensor, "1 x"]:
        """Columns of which anything was acquired."""
        return self.mask.pattern.any(dim=0, keepdim=True)

    def notes(self) -> list[str]:
        """What a person should know before this slice is reconstructed."""
        rows, columns = self.never_acquired
        # Where columns have gaps, they are the phase encoding, and rows are the readout.
        remedy = "" if columns or not self.complete else f" {EXCHANGED}"
        told = {
            f"{rows} rows at the edge of the readout were never acquired (zero-padded, or a partial echo): they count "
            f"as zero.{remedy}": rows > 0 and self.gapless_rows,
            f"{columns} columns at the edge were never acquired (zero-padded, or partial Fourier): they count as "
            "unknown.": columns > 0,
        }
        return [note for note, applies in told.items() if applies]

    @property
    def complete(self) -> bool:
        """Nothing is missing within the span."""
        return self.acceleration == 1


def find_sampling(kspace: Complex[Tensor, "coils y x"]) -> SliceSampling:
    """Find out what was acquired of a slice.

    Zeros at the edge are no undersampling if they are wider than every gap further in: nothing was acquired there.

    Raises:
        InputError: all samples are zero.
    """
    sampled = (kspace != 0).any(dim=0)
    rows, columns = sampled.any(dim=1), sampled.any(dim=0)
    if not bool(columns.any()):
        raise InputError("All samples of this slice are zero, so nothing can be reconstructed from it.")
    rectangle = rows[:, None] & columns[None, :]
    lines = bool(sampled[rectangle].float().mean() >= WHOLE)
    if lines:
        sampled = rectangle
    pattern = columns[None, :] if lines and bool(rows.all()) else sampled
    # The edge of scattered samples is ragged by chance.
    span = Region(_span(rows), _span(columns)) if lines else Region(*(slice(0, size) for size in sampled.shape))
    calibration = _calibration(sampled)
    kind = _kind(columns, span, calibration) if lines and _gapless(rows) else _kind_2d(columns, lines=lines)
    mask = SamplingMask(pattern.clone(), "found", 1.0)
    return SliceSampling(
        mask, span, calibration, kind, shape=(len(rows), len(columns)), gapless_rows=lines and _gapless(rows)
    )


def phase_encodes_rows(kspace: Complex[Tensor, "coils y x"]) -> bool:
    """Whether rows were left out and columns were not, as when the phase encoding runs along y."""
    sampled = (kspace != 0).any(dim=0)
    rows, columns = sampled.any(dim=1), sampled.any(dim=0)
    # Columns may be missing at the edge, as of a zero-padded readout.
    whole = bool(sampled[rows][:, columns].float().mean() >= WHOLE)
    return whole and _gapless(columns) and not _gapless(rows)


def _kind(columns: Bool[Tensor, " x"], span: Region, calibration: Region | None) -> str:
    """Whole columns: all of them, every so many, or as they come."""
    lines = columns.nonzero().flatten().tolist()
    if len(lines) == span.shape[1]:
        return "every column"
    center = range(0) if calibration is None else range(calibration.columns.start, calibration.columns.stop)
    parts = [line for line in lines if line < center.start], [line for line in lines if line >= center.stop]
    # A regular line may border the centre and be taken for a part of it, so only lines outside count.
    steps = Counter(second - first for part in parts for first, second in pairwise(part))
    if len(steps) == 1:
        return f"every {_ordinal(next(iter(steps)))} column" + (" and the centre" if len(center) > 1 else "")
    return "irregular columns" + (" and the centre" if len(center) > 1 else "")


def _kind_2d(columns: Bool[Tensor, " x"], *, lines: bool) -> str:
    if lines and bool(columns.all()):
        return "whole rows, with gaps between them"
    return "whole rows and columns, with gaps between them" if lines else "scattered samples in both directions"


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _calibration(sampled: Bool[Tensor, "y x"]) -> Region | None:
    try:
        return calibration_region(sampled.to(torch.complex64)[None, None])
    except InputError:
        return None


def _gapless(lines: Bool[Tensor, " lines"]) -> bool:
    found = lines.nonzero().flatten().tolist()
    return len(found) == found[-1] - found[0] + 1


def _span(lines: Bool[Tensor, " lines"]) -> slice:
    """The lines from the first to the last that could have been acquired."""
    found = lines.nonzero().flatten().tolist()
    gap = max((second - first - 1 for first, second in pairwise(found)), default=0)
    before, after = found[0], len(lines) - 1 - found[-1]
    return slice(before if before > gap else 0, found[-1] + 1 if after > gap else len(lines))
