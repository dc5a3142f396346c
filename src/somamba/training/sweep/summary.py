"""The summary of a sweep: one line for each finished run, as a CSV file and as a table for people."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Column, Table

from somamba.errors import InputError
from somamba.results.record import read_records, write_records
from somamba.results.scores import METRICS, ScoreRecord, average
from somamba.results.sweep import SweepRecord
from somamba.training.display import duration
from somamba.training.sweep.run_status import Run, run_status


def summarise(run: Run, command: str) -> SweepRecord:
    """The line of a finished run."""
    records, done = read_records(ScoreRecord, run.results), run_status(run)
    if not done.seconds > 0:
        raise InputError(f"{run.folder} is finished, but its journal.jsonl is gone, so how far it came is not known.")
    first = records[0]
    return SweepRecord(
        subject=first.subject,
        setting=first.setting,
        run=run.name,
        minutes=run.recipe.minutes or 0.0,
        seconds=done.seconds,
        steps=done.steps,
        batch_size=run.recipe.batch_size,
        slices_per_second=done.steps * run.recipe.batch_size / done.seconds,
        realised_acceleration=first.sampled.realised_acceleration,
        cases=first.cases,
        **{name: average(records, name).mean for name in METRICS},
        command=command,
    )


def keep_summary(path: Path, runs: Sequence[Run], command: str) -> list[SweepRecord]:
    """Write the lines of the runs that are finished so far to a CSV file, and return them.

    Args:
        path: The CSV file.
        runs: The runs of the sweep.
        command: The command that made them.
    """
    rows = [summarise(run, command) for run in runs if run_status(run).state == "finished"]
    if rows:
        write_records(path, rows)
    return rows


def summary_table(rows: Sequence[SweepRecord]) -> Table:
    """A summary for people, in few enough columns for any terminal: a long name is folded, a number never cut."""
    table = Table(Column("run", overflow="fold"), box=box.SIMPLE_HEAD)
    for head in ("seed", "steps", "training", "parameters", "PSNR", "SSIM"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.run,
            str(row.subject.seed),
            f"{row.steps:,}",
            duration(row.seconds),
            f"{row.subject.parameters:,}",
            f"{row.psnr:.2f}",
            f"{row.ssim:.3f}",
        )
    return table
