"""Two-level leakage as rows, the CSV file that keeps them, and their averages. No torch.

HLeak  share of the state's energy outside the cutoff        RLeak  the same of the read-out
eta    RLeak / (HLeak + epsilon), always taken last: of averages, as in the paper's Table 5, not an average of ratios
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, TypeVar

from somamba.errors import InputError
from somamba.evaluation.rows import Spread, check_values, read_records, spread, write_records

EPSILON = 1e-12
"""The paper's epsilon, whose value it does not give. A field without energy leaks nothing, and eta stays finite."""

Key = TypeVar("Key", bound=Hashable)


class Levels(NamedTuple):
    """Leakage at both levels."""

    hleak: float
    rleak: float

    @property
    def eta(self) -> float:
        """How much of the state's outer band the read-out expresses (Eq. 28)."""
        return self.rleak / (self.hleak + EPSILON)


@dataclass(frozen=True, kw_only=True)
class LeakageRow:
    """One unit on one case at one cutoff: the mean over the slices of the case, and what was measured."""

    method: str
    """Name of the model."""
    dataset: str
    split: str
    protocol: str
    """How measurements were made from the files: ``magnitude`` or ``raw``."""
    mask: str
    """Kind of the sampling mask."""
    mask_digest: str
    """First digits of the SHA-256 of the mask, the same wherever the same samples were taken."""
    acceleration: float
    """Nominal acceleration factor."""
    realised_acceleration: float
    """All samples over measured samples."""
    case: str
    slices: int
    """Slices in the mean."""
    unit: int
    """SO-Mamba unit, counted through the groups from 1."""
    units: int
    """Units of the network."""
    cutoff: float
    """r."""
    radius: str
    """What rho is measured in: distances of the ``corner`` or of the middle of a ``side``."""
    hleak: float
    rleak: float
    eta: float
    cases: int
    """Cases of this measurement."""
    split_cases: int
    """Cases the split has; more than ``cases`` where the measurement was limited."""
    epochs: float
    """Passes over the training data the weights have seen."""
    seed: int
    """Seed of the training."""
    parameters: int
    """Trainable parameters of the model."""
    weights: str
    """First digits of the SHA-256 of the weights."""
    command: str
    """What to type to measure this row again."""

    def __post_init__(self) -> None:
        check_values(self, f"Case {self.case!r}, unit {self.unit}")
        for name in ("hleak", "rleak"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"Case {self.case!r}, unit {self.unit}: {name} is a share, not {getattr(self, name)}.")

    @property
    def levels(self) -> Levels:
        """Both leakages."""
        return Levels(self.hleak, self.rleak)


class Measurement(NamedTuple):
    """What the rows of one measurement have in common."""

    method: str
    dataset: str
    split: str
    protocol: str
    mask: str
    acceleration: float
    radius: str
    epochs: float
    seed: int
    weights: str
    cases: int
    units: int


ALIKE = ("dataset", "split", "protocol", "mask", "acceleration", "radius", "cases")
"""What measurements must have in common to be compared."""


class Average(NamedTuple):
    """Over cases: mean and standard deviation of both leakages, and eta of the two means."""

    hleak: Spread
    rleak: Spread
    eta: float


def write_leakage(path: Path, rows: Sequence[LeakageRow]) -> None:
    """Write a CSV file in one piece."""
    by_measurement(rows)
    write_records(path, rows)


def read_leakage(path: Path) -> list[LeakageRow]:
    """Read a CSV file written by `write_leakage`; a missing or double row is refused."""
    rows = read_records(path, LeakageRow)
    by_measurement(rows)
    return rows


def by_measurement(rows: Iterable[LeakageRow]) -> dict[Measurement, list[LeakageRow]]:
    """Rows of each measurement, in the order met; refused unless every case has every unit once at every cutoff."""
    groups = _grouped(rows, lambda row: Measurement(*(getattr(row, name) for name in Measurement._fields)))
    for key, group in groups.items():
        where = f"Leakage of {key.method} on {key.dataset} {key.split}, x{key.acceleration:g}"
        cutoffs = {row.cutoff for row in group}
        found = {(row.case, row.unit, row.cutoff) for row in group}
        if len(found) != len(group):
            raise InputError(f"{where}: a case has more than one row for a unit; was the same file given twice?")
        cases = {row.case for row in group}
        wanted = {(case, unit + 1, cutoff) for case in cases for unit in range(key.units) for cutoff in cutoffs}
        if found != wanted or len(cases) != key.cases:
            raise InputError(
                f"{where}: {len(group)} rows, not one for each of {key.cases} cases, {key.units} units and "
                f"{len(cutoffs)} cutoffs; measure it again."
            )
    return groups


def comparable(rows: Iterable[LeakageRow]) -> tuple[dict[Measurement, list[LeakageRow]], list[float]]:
    """Rows of each measurement and the cutoffs of all; refused where they were not measured alike."""
    groups = by_measurement(rows)
    if not groups:
        raise InputError("There are no rows of leakage.")
    first, *others = groups
    for other in others:
        if differ := [name for name in ALIKE if getattr(first, name) != getattr(other, name)]:
            raise InputError(
                f"{first.method} and {other.method} cannot be compared: they differ in {', '.join(differ)}. "
                "Measure both alike."
            )
        if _sampled(groups[first]) != _sampled(groups[other]):
            raise InputError(
                f"{first.method} and {other.method} cannot be compared: they saw other cases, or the same through "
                "other masks. Measure both alike."
            )
    cutoffs = {frozenset(row.cutoff for row in group) for group in groups.values()}
    if len(cutoffs) > 1:
        raise InputError("The networks were measured at different cutoffs; measure them at the same.")
    return groups, sorted(cutoffs.pop())


def by_cutoff(rows: Sequence[LeakageRow]) -> dict[float, Average]:
    """The numbers of Table 5: mean over the units and slices of a case, then over cases."""
    return {cutoff: _over_cases(group) for cutoff, group in _grouped(rows, lambda row: row.cutoff).items()}


def by_unit(rows: Sequence[LeakageRow]) -> dict[tuple[float, int], Average]:
    """The same for every unit by itself, under (cutoff, unit)."""
    return {key: _over_cases(group) for key, group in _grouped(rows, lambda row: (row.cutoff, row.unit)).items()}


def mean_levels(levels: Sequence[Levels]) -> Levels:
    """Mean of both leakages, each by itself."""
    return Levels(*(fmean(values) for values in zip(*levels, strict=True)))


def _sampled(rows: Sequence[LeakageRow]) -> set[tuple[str, str]]:
    return {(row.case, row.mask_digest) for row in rows}


def _over_cases(rows: Sequence[LeakageRow]) -> Average:
    # Every unit sees every slice, so the mean of a case over units and slices is that of its rows.
    cases = [mean_levels([row.levels for row in group]) for group in _grouped(rows, lambda row: row.case).values()]
    hleak, rleak = (spread(values) for values in zip(*cases, strict=True))
    return Average(hleak, rleak, Levels(hleak.mean, rleak.mean).eta)


def _grouped(rows: Iterable[LeakageRow], key: Callable[[LeakageRow], Key]) -> dict[Key, list[LeakageRow]]:
    groups: dict[Key, list[LeakageRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups
