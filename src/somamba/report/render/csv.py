"""A table as CSV, for machines."""

import csv
import io
from typing import Any

from somamba.report.table import Table
from somamba.results.record import safe_cell


def comma_separated(table: Table) -> str:
    """One line for each record of the table; the cells themselves if it has none."""
    records = table.records or [
        {column.title: cell and cell.text for column, cell in zip(table.columns, line, strict=True)}
        for line in table.lines
    ]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(records[0])
    writer.writerows(map(_cell, record.values()) for record in records)
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    try:
        float(value)
    except ValueError:
        return safe_cell(value)
    return str(value)  # A number, perhaps already rounded, may begin with a minus.
