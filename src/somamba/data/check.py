"""What a folder holds of a dataset: cases and slices of each split, what is left out and why, and what is damaged."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from somamba.data.case import Case, Entry, LeftOut, Role
from somamba.data.catalog import DATASETS
from somamba.data.slices import meant_case
from somamba.data.splits import divide
from somamba.errors import DataError

Watch = Callable[[Iterable[Entry]], Iterable[Entry]]
"""Passes entries on and may show how many are done."""


@dataclass
class SplitTally:
    """The cases of one split that can be used."""

    cases: int = 0
    """The number of cases."""
    slices: int = 0
    """Number of slices of these cases."""
    valid: int = 0
    """Number of slices that count, without the margins that the dataset leaves out."""
    shapes: Counter[str] = field(default_factory=Counter)
    """Number of cases for each shape of a slice."""


@dataclass(frozen=True, kw_only=True)
class DatasetCheck:
    """What was found in a folder."""

    splits: dict[Role, SplitTally]
    """The usable cases of each split."""
    left_out: Counter[str]
    """Number of files or cases for each reason to leave them out."""
    unusable: tuple[str, ...]
    """One message for each case that cannot be read."""
    notes: tuple[str, ...] = ()
    """What a person should know about how the folder was understood."""
    entries: int
    """Number of cases that the folder lists, usable or not."""

    @property
    def usable(self) -> int:
        """Number of cases that can be used."""
        return sum(tally.cases for tally in self.splits.values())


def check_dataset(name: str, path: Path, *, quick: bool, watch: Watch = iter) -> DatasetCheck:
    """Read every case of a dataset.

    Args:
        name: Name of the dataset in the catalogue.
        path: Folder that holds its archives, unpacked.
        quick: Read headers only, no slices.
        watch: Passes the entries on, for a display of progress.

    Raises:
        DataError: the folder holds no case at all, or not in the expected layout.
    """
    dataset = DATASETS[name]
    listing = dataset.find(path)
    if not listing.entries:
        raise DataError(f"{path} holds no case of {name}. Expected layout: {dataset.layout}")
    parts = divide(listing.entries, dataset.validation, name)
    roles = {entry.id: role for role, part in parts.items() for entry in part}
    splits: dict[Role, SplitTally] = {"train": SplitTally(), "val": SplitTally(), "test": SplitTally()}
    left_out = Counter(item.reason for item in listing.left_out)
    unusable: list[str] = []
    understood: Counter[str] = Counter()
    for entry in watch(listing.entries):
        try:
            case = dataset.open_case(entry)
            if isinstance(case, LeftOut):
                left_out[case.reason] += 1
                continue
            if not quick:
                _read_all(case)
        except DataError as error:
            unusable.append(str(error))
            continue
        understood.update(case.notes)
        tally = splits[roles[entry.id]]
        tally.cases += 1
        tally.slices += len(case)
        tally.valid += len(dataset.slices.of(len(case)))
        tally.shapes[_shape(case)] += 1
    return DatasetCheck(
        splits=splits,
        left_out=left_out,
        unusable=tuple(unusable),
        notes=(
            *listing.notes,
            *(f"{note} ({count} case{'s' if count > 1 else ''})" for note, count in understood.most_common()),
        ),
        entries=len(listing.entries),
    )


def find_case(name: str, path: Path, case: str) -> Case:
    """Open one case of a dataset by its name.

    Args:
        name: Name of the dataset in the catalogue.
        path: Folder that holds its archives, unpacked.
        case: Name of the case, such as ``patient001``.

    Raises:
        DataError: there is no such case, or the dataset leaves it out.
    """
    entries = {entry.id: entry for entry in DATASETS[name].find(path).entries}
    if case not in entries:
        hint = meant_case(case, list(entries.values()))
        raise DataError(f"{path} has no case {case!r} among its {len(entries)} cases.{hint}")
    found = DATASETS[name].open_case(entries[case])
    if isinstance(found, LeftOut):
        raise DataError(f"Case {found.name!r} is left out: {found.reason}.")
    return found


def _read_all(case: Case) -> None:
    for volume in (case.kspace, case.image):
        if volume is not None:
            for _ in volume.blocks(range(len(volume))):
                pass  # Reading is the check: damaged, cut off and non-finite values are refused.


def _shape(case: Case) -> str:
    volume = case.image if case.kspace is None else case.kspace
    return " x ".join(map(str, volume.shape[1:])) if volume is not None else ""
