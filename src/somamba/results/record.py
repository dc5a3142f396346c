"""Records of results as lines of a CSV file. No torch.

A record is a frozen dataclass. It may hold other dataclasses, such as the `Subject` and the `Setting` of an evaluation;
in a file the fields of all of them stand side by side. ``COLUMNS`` of a record lists the names of the columns in their
order; ``model=method`` is the column ``model`` that holds the field ``method``.
"""

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from somamba.durable import replace_file
from somamba.errors import InputError
from somamba.regular_files import open_regular, read_regular

LARGEST_FILE = 200_000_000
"""Bytes of a file of results that is read; the largest committed one has less than a hundredth of this."""
LARGEST_NUMBER = 1e30
"""Numbers beyond it, whole ones beyond 64 bits, are no measurement; a chart of them would fail."""
# A spreadsheet runs a cell that begins so; the quote itself is doubled to make reading exact.
FORMULA_STARTS = ("=", "+", "-", "@", "'")

Record = TypeVar("Record")


class Leaf(NamedTuple):
    """A field that holds a value, not another record."""

    path: tuple[str, ...]
    """Names of the attributes that lead to it."""
    kind: Any
    """The type of the field."""

    def of(self, record: Any) -> Any:
        """The value that a record has there."""
        for name in self.path:
            record = getattr(record, name)
        return record


def _leaves(kind: Any) -> dict[str, Leaf]:
    found: dict[str, Leaf] = {}
    for field in fields(kind):
        inner = {field.name: Leaf((), field.type)}
        if isinstance(field.type, type) and is_dataclass(field.type):
            inner = leaves(field.type)
        if double := found.keys() & inner.keys():
            raise TypeError(f"{kind.__name__} has two fields named {min(double)}.")
        found |= {name: Leaf((field.name, *leaf.path), leaf.kind) for name, leaf in inner.items()}
    return found


leaves: Callable[[Any], dict[str, Leaf]] = cache(_leaves)
"""All fields of a kind of record and of the records inside it, by name."""


def _columns(kind: Any) -> dict[str, str]:
    names = getattr(kind, "COLUMNS", " ".join(leaves(kind)))
    return {column: field or column for column, _, field in (word.partition("=") for word in names.split())}


columns: Callable[[Any], dict[str, str]] = cache(_columns)
"""Names of the columns of a file of such records, and the field that each of them holds."""


def value_of(record: Any, name: str) -> Any:
    """The value of a field, whichever inner record holds it."""
    return leaves(type(record))[name].of(record)


def flat(record: Any) -> dict[str, Any]:
    """The values of a record by column, in the order of the columns."""
    return {column: value_of(record, name) for column, name in columns(type(record)).items()}


def nested(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """The record whose columns have these values; undoes `flat`."""
    by_field = {name: values[column] for column, name in columns(kind).items()}

    def build(inner: Any) -> Any:
        return inner(
            **{
                field.name: by_field[field.name] if field.name in by_field else build(field.type)
                for field in fields(inner)
            }
        )

    return build(kind)


def check_values(record: Any, name: str) -> None:
    """Refuse a record with a number that is not finite or a text that would break a table or a terminal."""
    for field, leaf in leaves(type(record)).items():
        value = leaf.of(record)
        numbers = value if leaf.kind == tuple[float, ...] else [value] if leaf.kind is float else []
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"{name}: {field} is {value}, not finite.")
        whole = leaf.kind is int and abs(value) >= 2**63
        if whole or any(abs(number) > LARGEST_NUMBER for number in numbers):
            raise InputError(f"{name}: {field} is too large to be a measurement.")
        if leaf.kind is str and not value.isprintable():
            raise InputError(f"{field}={value!r} has signs that cannot be printed; they would break a table.")


def write_records(path: Path, records: Sequence[Any]) -> None:
    """Write records of one kind as a CSV file; a reader sees the old file or the new one, never a part."""
    if not records:
        raise InputError(f"{path}: there are no rows to write.")
    _check_file(records)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns(type(records[0])))
    writer.writerows(map(safe_cell, flat(record).values()) for record in records)
    replace_file(path, text.getvalue().encode())


def read_records(kind: type[Record], *paths: Path) -> list[Record]:
    """Read CSV files that `write_records` wrote from records of this kind."""
    return [record for path in paths for record in _read_file(path, kind)]


def _read_file(path: Path, kind: type[Record]) -> list[Record]:
    try:
        text = read_regular(path, most=LARGEST_FILE).decode()
        table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a CSV file of results: {error}") from None
    names = list(columns(kind))
    if not table or table[0] != names:
        found = ",".join(table[0]) if table else "nothing"
        raise InputError(f"{path}: the first line must be {','.join(names)}; it is {found[:500]!r}. Write it again.")
    if not table[1:]:
        raise InputError(f"{path}: no case, only the heading.")
    records = [_record(path, number, cells, kind) for number, cells in enumerate(table[1:], start=2)]
    try:
        _check_file(records)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return records


def _check_file(records: Sequence[Any]) -> None:
    """Refuse records that may not share a file; their kind says which with ``check_file``, if it has rules."""
    if check := getattr(type(records[0]), "check_file", None):
        check(records)


def holds(path: Path, kind: type[Any]) -> bool:
    """Tell by its first line whether a CSV file holds records of this kind."""
    try:
        with open_regular(path) as file:
            return next(csv.reader([file.readline(10_000).decode()]), []) == list(columns(kind))
    except (OSError, UnicodeDecodeError, csv.Error):
        return False


def safe_cell(value: object) -> str:
    """A value as CSV text that no spreadsheet takes for a formula; `read_records` undoes it exactly."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    return repr(value)


def _record(path: Path, number: int, cells: Sequence[str], kind: type[Record]) -> Record:
    try:
        found = zip(columns(kind).items(), cells, strict=True)
        return nested(kind, {column: _value(leaves(kind)[name].kind, cell) for (column, name), cell in found})
    except ValueError as error:
        raise InputError(f"{path}, line {number}: {error}") from None


def _value(kind: object, cell: str) -> str | int | float:
    if kind is int:
        return int(cell)
    return float(cell) if kind is float else cell.removeprefix("'")
