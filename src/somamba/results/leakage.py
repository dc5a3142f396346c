"""Two-level leakage of one unit on one case, the CSV file that keeps it, and averages. No torch.

HLeak  share of the state's energy outside the cutoff        RLeak  the same share of the read-out
eta    RLeak / (HLeak + epsilon), always taken last: of averages, as in the paper's Table 5, not an average of ratios
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, NamedTuple

from somamba.errors import InputError
from somamba.results.averages import Spread, grouped, spread
from somamba.results.comparable import check_comparable, conditions
from somamba.results.setting import CaseRecord, Evaluation

EPSILON = 1e-12
"""The paper's epsilon, whose value it does not give. A field without energy leaks nothing, and eta stays finite."""


class Levels(NamedTuple):
    """Leakage at both levels."""

    hleak: float
    rleak: float

    @property
    def eta(self) -> float:
        """The share of the state's outer band that the read-out expresses (Eq. 28)."""
        return self.rleak / (self.hleak + EPSILON)


@dataclass(frozen=True, kw_only=True)
class LeakageRecord(CaseRecord):
    """One unit on one case at one cutoff: the mean over the slices of the case, and what was measured."""

    COLUMNS: ClassVar[str] = (
        "method dataset split protocol mask mask_digest acceleration realised_acceleration case slices unit units "
        "cutoff radius hleak rleak eta cases split_cases epochs seed parameters weights command"
    )

    unit: int
    """Number of the SO-Mamba unit, counted through the groups from 1."""
    units: int
    """Number of units of the network."""
    cutoff: float
    """The cutoff r, a share of the normalised radius."""
    radius: str
    """The place at which rho is 1: the ``corner`` of the transform grid, or the middle of its shorter ``side``."""
    hleak: float
    rleak: float
    eta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hleak", "rleak"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"Case {self.case!r}, unit {self.unit}: {name} is a share, not {getattr(self, name)}.")

    @staticmethod
    def check_file(records: "Sequence[LeakageRecord]") -> None:
        """Refuse the records of a file with a missing or double row."""
        by_measurement(records)

    @property
    def setting_of_leakage(self) -> "LeakageSetting":
        """The measurement that this record belongs to."""
        return LeakageSetting(evaluation=self.evaluation, units=self.units, radius=self.radius)


@dataclass(frozen=True, kw_only=True)
class LeakageSetting:
    """What the records of one measurement of leakage have in common."""

    evaluation: Evaluation
    units: int
    radius: str


class LeakageAverage(NamedTuple):
    """Mean and standard deviation of both leakages over cases, and eta of the two means."""

    hleak: Spread
    rleak: Spread
    eta: float

    @property
    def levels(self) -> Levels:
        """HLeak and RLeak, each the mean over slices."""
        return Levels(self.hleak.mean, self.rleak.mean)


LeakageGroups = dict[LeakageSetting, list[LeakageRecord]]


def by_measurement(records: Iterable[LeakageRecord]) -> LeakageGroups:
    """Records of each measurement, in their order; refused unless every case has every unit once at every cutoff."""
    groups = grouped(records, lambda record: record.setting_of_leakage)
    for key, group in groups.items():
        title, count = f"Leakage of {key.evaluation.title}", key.evaluation.cases
        found = {(record.case, record.unit, record.cutoff) for record in group}
        if len(found) != len(group):
            raise InputError(f"{title}: a case has more than one row for a unit; was the same file given twice?")
        cases, units = {record.case for record in group}, range(1, key.units + 1)
        wanted = {(case, unit, cutoff) for case in cases for unit in units for cutoff in cutoffs(group)}
        if found != wanted or len(cases) != count:
            raise InputError(
                f"{title}: {len(group)} rows, not one for each of {count} cases, {key.units} units and "
                f"{len(cutoffs(group))} cutoffs; measure it again."
            )
    return groups


def comparable_leakage(records: Iterable[LeakageRecord]) -> tuple[LeakageGroups, list[float]]:
    """Records of each measurement, and the cutoffs of all; refused if they were not measured alike."""
    groups = by_measurement(records)
    if not groups:
        raise InputError("There are no rows of leakage.")
    check_comparable(
        (key.evaluation.subject.method, conditions(group, radius=key.radius, cutoffs=cutoffs(group)))
        for key, group in groups.items()
    )
    return groups, cutoffs(next(iter(groups.values())))


def cutoffs(records: Iterable[LeakageRecord]) -> list[float]:
    """The cutoffs that were measured, from small to large."""
    return sorted({record.cutoff for record in records})


def by_cutoff(records: Sequence[LeakageRecord]) -> dict[float, LeakageAverage]:
    """The numbers of Table 5: mean over the units and slices of a case, then over cases."""
    return {cutoff: _over_cases(group) for cutoff, group in grouped(records, lambda one: one.cutoff).items()}


def by_unit(records: Sequence[LeakageRecord]) -> dict[tuple[float, int], LeakageAverage]:
    """Return the averages of every unit, under (cutoff, unit)."""
    return {key: _over_cases(group) for key, group in grouped(records, lambda one: (one.cutoff, one.unit)).items()}


def _over_cases(records: Sequence[LeakageRecord]) -> LeakageAverage:
    # Every unit sees every slice, so the mean of a case over units and slices is that of its records.
    cases = grouped(records, lambda record: record.case).values()
    hleak, rleak = (
        spread([fmean(getattr(one, name) for one in case) for case in cases]) for name in ("hleak", "rleak")
    )
    return LeakageAverage(hleak, rleak, Levels(hleak.mean, rleak.mean).eta)
