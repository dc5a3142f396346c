"""A split of a dataset as a sequence of samples."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from somamba.data.batch import Batch, Sample, collate
from somamba.data.cache import PreparedCase, prepared_case
from somamba.data.case import Entry, LeftOut, Role
from somamba.data.catalog import split_entries
from somamba.data.config import DataConfig
from somamba.data.simulation.measure import measure
from somamba.data.simulation.orientation import Orientation
from somamba.data.simulation.seeds import Draw
from somamba.errors import DataError
from somamba.registry import did_you_mean


@dataclass(frozen=True, kw_only=True)
class SliceDataset:
    """Slices of prepared cases, numbered through. A value: another epoch is another dataset, see `at`."""

    config: DataConfig
    cases: tuple[PreparedCase, ...]
    left_out: tuple[LeftOut, ...] = ()
    """Cases of the split that are deliberately not used."""
    epoch: int = 0
    """Names the draws of masks and noise; validation and test stay at 0."""
    orientation: Orientation | None = None
    """Mirrors and turns, for training only; None leaves the slices as they are."""

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> Sample:
        if not 0 <= index < len(self):
            raise IndexError(f"slice {index} of {len(self)}")
        which = int(np.searchsorted(self._starts, index, side="right")) - 1
        case = self.cases[which]
        position = index - int(self._starts[which])
        draw = Draw(self.config.seed, self.epoch, case.id, case.slices[position])
        values = case[position] if self.orientation is None else self.orientation.apply(case[position], draw)
        return measure(values, self.config, draw)

    def at(self, epoch: int) -> "SliceDataset":
        """Return these slices with the draws of another epoch."""
        return replace(self, epoch=epoch)

    def batch(self, indices: Sequence[int] | NDArray[np.int64]) -> Batch:
        """The samples with these numbers, stacked."""
        return collate([self[int(index)] for index in indices])

    def by_case(self) -> Iterator[tuple[PreparedCase, range]]:
        """Every case with the numbers of its slices."""
        for case, start in zip(self.cases, self._starts.tolist(), strict=False):
            yield case, range(start, start + len(case.slices))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(case.slices) for case in self.cases)])


def open_slices(
    config: DataConfig,
    split: Role,
    *,
    limit_cases: int | None = None,
    only: str | None = None,
    on_case: Callable[[int, int], None] | None = None,
) -> SliceDataset:
    """Open one split; cases that were never prepared under this configuration are prepared now.

    Args:
        config: Dataset, protocol, mask.
        split: ``train``, ``val`` or ``test``.
        limit_cases: Use only the first so many.
        only: Use only the case of this name.
        on_case: Called after every case with the number of cases done and the number of all.
    """
    entries = split_entries(config.dataset, config.root, split, validation=config.validation)
    if only is not None:
        entries = _named(entries, only, split)
    cases: list[PreparedCase] = []
    left_out: list[LeftOut] = []
    for done, entry in enumerate(entries, 1):
        if limit_cases is not None and len(cases) >= limit_cases:
            break
        ready = prepared_case(entry, config)
        if isinstance(ready, LeftOut):
            left_out.append(ready)
        else:
            cases.append(ready)
        if on_case is not None:
            on_case(done, len(entries))
    if not cases:
        reason = left_out[0].reason if left_out else f"limit_cases={limit_cases}"
        raise DataError(f"No case of the {split!r} split of {config.dataset} is used, of {len(entries)}: {reason}.")
    return SliceDataset(config=config, cases=tuple(cases), left_out=tuple(left_out))


def open_validation(config: DataConfig, *, on_case: Callable[[int, int], None] | None = None) -> SliceDataset:
    """Open the cases that a training validates on; there are none if none are held out (``validation: none``).

    Args:
        config: Dataset, protocol, mask, and whether validation is carved.
        on_case: Called after every case with how many are done, and how many there are.
    """
    if config.validation == "none" and config.entry.validation is not None:
        return SliceDataset(config=config, cases=())
    return open_slices(config, "val", on_case=on_case)


def meant_case(name: str, entries: Sequence[Entry]) -> str:
    """A sentence, after a space, that names the case that may have been meant, or the first one."""
    first = f" The first is {entries[0].id!r}." if entries else ""
    return did_you_mean(name, [entry.id for entry in entries]) or first


def _named(entries: Sequence[Entry], name: str, split: Role) -> tuple[Entry, ...]:
    """The entry of this name, alone."""
    found = tuple(entry for entry in entries if entry.id == name)
    if not found:
        raise DataError(f"No case of the {split!r} split is named {name!r}.{meant_case(name, entries)}")
    return found
