"""What a sweep came to: one line for each finished run, as CSV for machines and as a table for people."""

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Column, Table

from somamba.errors import InputError
from somamba.evaluation.rows import read_rows, spread
from somamba.evaluation.sweep_rows import SweepRow, write_sweep
from somamba.training.display import duration
from somamba.training.standing import Run, standing

MEASURED = (
    "epochs",
    "parameters",
    "dataset",
    "split",
    "protocol",
    "mask",
    "acceleration",
    "realised_acceleration",
    "cases",
    "weights",
)
"""What all rows of an evaluation say alike."""


def summarise(run: Run, command: str) -> SweepRow:
    """The line of a finished run."""
    rows, done = read_rows(run.results), standing(run)
    if not done.seconds > 0:
        raise InputError(f"{run.folder} is finished, but its journal.jsonl is gone: nobody knows how far it came.")
    facts = {name: getattr(rows[0], name) for name in MEASURED}
    facts |= {name: spread([getattr(row, name) for row in rows]).mean for name in ("psnr", "ssim", "nmse")}
    return SweepRow(
        run=run.name,
        model=run.recipe.model,
        seed=run.recipe.seed,
        minutes=run.recipe.minutes or 0.0,
        seconds=done.seconds,
        steps=done.steps,
        batch_size=run.recipe.batch_size,
        slices_per_second=done.steps * run.recipe.batch_size / done.seconds,
        command=command,
        **facts,
    )


def keep_summary(path: Path, runs: Sequence[Run], command: str) -> list[SweepRow]:
    """Write the lines of the runs that are finished so far to a CSV file, and return them."""
    rows = [summarise(run, command) for run in runs if standing(run).state == "finished"]
    if rows:
        write_sweep(path, rows)
    return rows


def summary_table(rows: Sequence[SweepRow]) -> Table:
    """The same for people, in few enough columns for any terminal: a long name is folded, a number never cut."""
    table = Table(Column("run", overflow="fold"), box=box.SIMPLE_HEAD)
    for head in ("seed", "steps", "training", "parameters", "PSNR", "SSIM"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.run,
            str(row.seed),
            f"{row.steps:,}",
            duration(row.seconds),
            f"{row.parameters:,}",
            f"{row.psnr:.2f}",
            f"{row.ssim:.3f}",
        )
    return table
