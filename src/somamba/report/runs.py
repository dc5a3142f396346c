"""Evaluations that may be compared, each with a name of its own: what a page puts into one table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from somamba.errors import InputError
from somamba.report.names import CHOSEN, REFERENCE_METHOD, counted, distinct_names, method_place, place
from somamba.report.statistics import Comparison, compare
from somamba.results.comparable import comparable
from somamba.results.scores import ScoreRecord, average, by_evaluation
from somamba.results.setting import Subject


@dataclass(frozen=True)
class ComparableRuns:
    """Evaluations on the same cases through the same masks, in the paper's order of methods."""

    entries: dict[str, Sequence[ScoreRecord]]
    """Records by a name for the method that is unique here."""

    @property
    def first(self) -> ScoreRecord:
        """One record; all of them say the same about what was measured."""
        return next(iter(self.entries.values()))[0]

    @property
    def title(self) -> str:
        """Dataset, acceleration and split."""
        return place(self.first.setting)

    @property
    def about(self) -> str:
        """Cases, mask and protocol."""
        record = self.first
        cases = f"{record.cases} of {record.split_cases} cases" if record.partial else counted(record.cases, "case")
        realised = record.sampled.realised_acceleration
        chosen = (
            f" {CHOSEN}"
            if record.setting.split == "val" and any(one[0].subject.weights for one in self.entries.values())
            else ""
        )
        return (
            f"{cases}; {record.setting.mask} mask, realised acceleration ×{realised:.2f}; protocol "
            f"{record.setting.protocol}.{chosen}"
        )

    def mean(self, name: str, metric: str) -> float:
        """The mean of a metric over cases."""
        return average(self.entries[name], metric).mean

    def best(self) -> str:
        """The method with the highest PSNR."""
        return max(self.entries, key=lambda name: self.mean(name, "psnr"))

    def of_method(self, method: str) -> str | None:
        """The name that a method has here: of several trainings the longest, of equally long ones the first seed."""
        epochs = {
            name: records[0].subject.epochs
            for name, records in self.entries.items()
            if records[0].subject.method == method
        }
        return max(epochs, key=lambda name: epochs[name], default=None)

    def comparisons(self) -> list[Comparison]:
        """SO-Mamba, or the best method if it takes no part, against each of the others."""
        if len(self.entries) < 2 or self.first.cases < 2:
            return []
        ours = self.of_method(REFERENCE_METHOD) or self.best()
        others = [name for name in self.entries if name != ours]
        records = [record for name in (ours, *others) for record in self.entries[name]]
        return compare(records, metrics=("psnr", "ssim"))


def comparable_runs(records: Iterable[ScoreRecord]) -> list[ComparableRuns]:
    """Evaluations sorted into those that may be compared; refused if a case is missing or double."""
    found = []
    for group in comparable(by_evaluation(records)):
        ordered = sorted(group, key=lambda one: _order(one.subject))
        names = distinct_names(ordered)
        if len(set(names)) != len(names):
            raise InputError(f"Two evaluations of {names[0]} cannot be told apart; give the files of one of them.")
        found.append(ComparableRuns({name: group[one] for name, one in zip(names, ordered, strict=True)}))
    return found


def _order(subject: Subject) -> tuple[tuple[int, str], int, float, str]:
    return method_place(subject.method), subject.seed, subject.epochs, subject.weights
