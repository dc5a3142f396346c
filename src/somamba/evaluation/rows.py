"""One result: the metrics of one case under one setting, and the CSV file that keeps them. No torch.

A file of rows is complete or refused: every row says how many cases its evaluation had, so a row that is missing,
doubled or not finite is noticed wherever the file is read.
"""

import csv
import io
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from somamba.durable import replace_file
from somamba.errors import InputError

METRICS = ("psnr", "ssim", "nmse")
# A spreadsheet runs a cell that begins so; the quote itself is doubled to make reading exact.
FORMULA_STARTS = ("=", "+", "-", "@", "'")

Record = TypeVar("Record")


@dataclass(frozen=True, kw_only=True)
class Row:
    """The mean over the slices of one case, and everything needed to say what was measured."""

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
    """Nominal acceleration factor, as the tables name it."""
    realised_acceleration: float
    """All samples over measured samples."""
    case: str
    slices: int
    """Slices in the mean."""
    slices_left_out: int
    """Slices whose target is zero everywhere: no metric is defined for them."""
    psnr: float
    ssim: float
    nmse: float
    cases: int
    """Cases of this evaluation; the file holds one row for each."""
    split_cases: int
    """Cases the split has; more than ``cases`` where the evaluation was limited."""
    epochs: float
    """Passes over the training data the weights have seen."""
    seed: int
    """Seed of the training."""
    parameters: int
    """Trainable parameters of the model."""
    weights: str
    """First digits of the SHA-256 of the weights, empty where there are none."""
    command: str
    """What to type to measure this row again."""

    def __post_init__(self) -> None:
        check_values(self, f"Case {self.case!r} of {self.dataset!r}")
        if not 1 <= self.cases <= self.split_cases:
            raise InputError(f"Case {self.case!r}: cases={self.cases} must lie between 1 and {self.split_cases=}.")
        if self.slices < 1:
            raise InputError(f"Case {self.case!r} of {self.dataset!r} has no slice with a metric; leave the case out.")


class Setting(NamedTuple):
    """What the rows of one evaluation have in common."""

    method: str
    dataset: str
    split: str
    protocol: str
    mask: str
    acceleration: float
    epochs: float
    seed: int
    weights: str
    cases: int


class Spread(NamedTuple):
    """Mean and standard deviation over cases."""

    mean: float
    std: float


def setting(row: Row) -> Setting:
    """The evaluation a row belongs to."""
    return Setting(*(getattr(row, name) for name in Setting._fields))


def by_setting(rows: Iterable[Row]) -> dict[Setting, list[Row]]:
    """Rows of each evaluation, in the order met; refused where a case is missing or double."""
    groups: dict[Setting, list[Row]] = {}
    for row in rows:
        groups.setdefault(setting(row), []).append(row)
    for key, group in groups.items():
        _check_complete(key, [row.case for row in group])
    return groups


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation over cases (of the population, numpy's default)."""
    return Spread(statistics.fmean(values), statistics.pstdev(values))


def check_cases(found: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse results that are not exactly one for each case wanted."""
    double = sorted({case for case in found if found.count(case) > 1})
    missing = sorted(set(wanted) - set(found))
    foreign = sorted(set(found) - set(wanted))
    for names, what in ((double, "more than once"), (missing, "missing"), (foreign, "not of this evaluation")):
        if names:
            raise InputError(f"{len(names)} cases are {what}: {', '.join(names[:5])}{', ...' if names[5:] else ''}.")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write a CSV file in one piece: a reader sees the old file or the new one, never a part."""
    by_setting(rows)
    write_records(path, rows)


def read_rows(path: Path) -> list[Row]:
    """Read a CSV file written by `write_rows`; a missing, double or non-finite case is refused."""
    rows = read_records(path, Row)
    by_setting(rows)
    return rows


def check_values(record: Any, name: str) -> None:
    """Refuse a record of a dataclass with a number that is not finite or a text that would break a table."""
    for field in fields(record):
        value = getattr(record, field.name)
        if field.type is float and not math.isfinite(value):
            raise InputError(f"{name}: {field.name} is {value}, not finite.")
        if field.type is str and not value.isprintable():
            raise InputError(f"{field.name}={value!r} has signs that cannot be printed; they would break a table.")


def write_records(path: Path, records: Sequence[Any]) -> None:
    """Write records of one dataclass as a CSV file, in one piece."""
    if not records:
        raise InputError(f"{path}: there are no rows to write.")
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(records[0])]
    writer.writerow(names)
    writer.writerows([safe_cell(getattr(record, name)) for name in names] for record in records)
    replace_file(path, text.getvalue().encode())


def read_records(path: Path, kind: type[Record]) -> list[Record]:
    """Read a CSV file written by `write_records` from records of this dataclass."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            table = list(csv.reader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a CSV file of results: {error}") from None
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if not table or table[0] != names:
        found = ",".join(table[0]) if table else "nothing"
        raise InputError(f"{path}: the first line must be {','.join(names)}; it is {found}. Write it again.")
    if not table[1:]:
        raise InputError(f"{path}: no case, only the heading.")
    return [_record(path, number, cells, kind) for number, cells in enumerate(table[1:], start=2)]


def holds(path: Path, kind: type[Any]) -> bool:
    """Tell by its first line whether a CSV file holds records of this dataclass."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return next(csv.reader(file), []) == [field.name for field in fields(kind)]
    except (OSError, UnicodeDecodeError, csv.Error):
        return False


def safe_cell(value: object) -> str:
    """A value as CSV text that no spreadsheet takes for a formula; `read_rows` undoes it exactly."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    return repr(value)


def _check_complete(key: Setting, cases: Sequence[str]) -> None:
    where = f"{key.method} on {key.dataset} {key.split}, x{key.acceleration:g}"
    if double := sorted({case for case in cases if cases.count(case) > 1}):
        raise InputError(f"{where}: case {double[0]!r} has more than one row; was the same file given twice?")
    if len(cases) != key.cases:
        raise InputError(f"{where}: {len(cases)} rows of an evaluation of {key.cases} cases; evaluate it again.")


def _record(path: Path, number: int, cells: Sequence[str], kind: type[Record]) -> Record:
    try:
        found = zip(fields(kind), cells, strict=True)  # type: ignore[arg-type]
        return kind(**{field.name: _value(field.type, cell) for field, cell in found})
    except ValueError as error:
        raise InputError(f"{path}, line {number}: {error}") from None


def _value(kind: object, cell: str) -> str | int | float:
    if kind is int:
        return int(cell)
    return float(cell) if kind is float else cell.removeprefix("'")
