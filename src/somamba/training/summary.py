"""What a sweep came to: one line for each finished run, as CSV for machines and as a table for people."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from rich.table import Column, Table

from somamba.durable import replace_file
from somamba.errors import InputError
from somamba.evaluation.rows import read_rows, safe_cell, spread
from somamba.training.display import duration
from somamba.training.standing import Run, standing


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """One finished run: what was trained, how far it came, and the means over the validation cases."""

    run: str
    model: str
    seed: int
    minutes: float | None
    """Budget; None where epochs decided."""
    seconds: float
    """That the steps took, validations and checkpoints not counted."""
    steps: int
    """Steps reached."""
    slices_per_second: float
    epochs: float
    """Passes over the training data that the best weights have seen."""
    parameters: int
    cases: int
    """Validation cases."""
    psnr: float
    ssim: float
    nmse: float
    weights: str
    """First digits of the SHA-256 of the best weights."""
    command: str
    """What to type to train it again."""


def summarise(run: Run, command: str) -> SummaryRow:
    """The line of a finished run."""
    rows, done = read_rows(run.results), standing(run)
    if not done.seconds > 0:
        raise InputError(f"{run.folder} is finished, but its journal.jsonl is gone: nobody knows how far it came.")
    means = {name: spread([getattr(row, name) for row in rows]).mean for name in ("psnr", "ssim", "nmse")}
    return SummaryRow(
        run=run.name,
        model=run.recipe.model,
        seed=run.recipe.seed,
        minutes=run.recipe.minutes,
        seconds=done.seconds,
        steps=done.steps,
        slices_per_second=done.steps * run.recipe.batch_size / done.seconds,
        epochs=rows[0].epochs,
        parameters=rows[0].parameters,
        cases=rows[0].cases,
        weights=rows[0].weights,
        command=command,
        **means,
    )


def keep_summary(path: Path, runs: Sequence[Run], command: str) -> list[SummaryRow]:
    """Write the lines of the runs that are finished so far to a CSV file, and return them."""
    rows = [summarise(run, command) for run in runs if standing(run).state == "finished"]
    if rows:
        write_summary(path, rows)
    return rows


def write_summary(path: Path, rows: Sequence[SummaryRow]) -> None:
    """Write a CSV file in one piece."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(SummaryRow)]
    writer.writerow(names)
    for row in rows:
        values = [getattr(row, name) for name in names]
        writer.writerow(["" if value is None else safe_cell(value) for value in values])
    replace_file(path, text.getvalue().encode())


def summary_table(rows: Sequence[SummaryRow]) -> Table:
    """The same for people."""
    heads = ("seed", "steps", "slices/s", "training", "budget", "parameters", "PSNR", "SSIM")
    table = Table(Column("run", no_wrap=True))
    for head in heads:
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(
            row.run,
            str(row.seed),
            f"{row.steps:,}",
            f"{row.slices_per_second:.2f}",
            duration(row.seconds),
            "-" if row.minutes is None else duration(60 * row.minutes),
            f"{row.parameters:,}",
            f"{row.psnr:.2f} dB",
            f"{row.ssim:.4f}",
        )
    return table
