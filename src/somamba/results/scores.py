"""Scores of an evaluation: the metrics of one case, and the CSV file that keeps them. No torch.

A file is complete or refused: every record says how many cases its evaluation had, so a record that is missing,
double or not finite is noticed whenever the file is read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from somamba.errors import InputError
from somamba.results.averages import Spread, grouped, repeated, spread
from somamba.results.setting import CaseRecord, Evaluation

METRICS = ("psnr", "ssim", "nmse")


@dataclass(frozen=True, kw_only=True)
class ScoreRecord(CaseRecord):
    """The means over the slices of one case, and everything needed to say what was measured."""

    COLUMNS: ClassVar[str] = (
        "method dataset split protocol mask mask_digest acceleration realised_acceleration case slices slices_left_out "
        "psnr ssim nmse cases split_cases epochs seed parameters weights command"
    )

    slices_left_out: int
    """Number of slices whose target is zero everywhere: no metric is defined for them."""
    psnr: float
    ssim: float
    nmse: float

    @staticmethod
    def check_file(records: "Sequence[ScoreRecord]") -> None:
        """Refuse the records of a file with a missing or double case."""
        by_evaluation(records)


def by_evaluation(records: Iterable[ScoreRecord]) -> dict[Evaluation, list[ScoreRecord]]:
    """Records of each evaluation, in their order; refused if a case is missing or double."""
    groups = grouped(records, lambda record: record.evaluation)
    for evaluation, group in groups.items():
        if double := repeated([record.case for record in group]):
            raise InputError(
                f"{evaluation.title}: case {double[0]!r} has more than one row; was the same file given twice?"
            )
        if len(group) != evaluation.cases:
            raise InputError(
                f"{evaluation.title}: {len(group)} rows of an evaluation of {evaluation.cases} cases; evaluate it "
                "again."
            )
    return groups


def average(records: Iterable[ScoreRecord], metric: str) -> Spread:
    """Mean and standard deviation of a metric over the cases of an evaluation."""
    return spread([getattr(record, metric) for record in records])


def check_metrics(names: Iterable[str]) -> None:
    """Refuse a name that is no metric."""
    if unknown := [name for name in names if name not in METRICS]:
        raise InputError(f"No metric is named {unknown[0]!r}; known: {', '.join(METRICS)}.")


def check_cases(found: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse results that are not exactly one for each case wanted."""
    missing, foreign = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    wrong = {"more than once": sorted(repeated(found)), "missing": missing, "not of this evaluation": foreign}
    for what, names in wrong.items():
        if names:
            raise InputError(f"{len(names)} cases are {what}: {', '.join(names[:5])}{', ...' if names[5:] else ''}.")
