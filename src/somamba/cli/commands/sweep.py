"""``somamba sweep GRID``: train several networks one after another under one budget, and measure each."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rich.table import Column, Table

from somamba.cli.commands.train import RESUMABLE
from somamba.cli.output import complain, make_console, say
from somamba.errors import ConfigError
from somamba.native.memory import keep_pages
from somamba.report.names import counted
from somamba.results.journal import Event
from somamba.runtime.lock import locked
from somamba.runtime.processes import announced_size
from somamba.training.display import duration
from somamba.training.sweep.display import SweepTable, live_sweep_display, plain_sweep_display
from somamba.training.sweep.grid import Grid, read_grid
from somamba.training.sweep.run_status import Run, run_status
from somamba.training.sweep.summary import keep_summary, summary_table
from somamba.training.sweep.sweep import Ending, Watcher, prepare_runs, sweep

# Options that depend on the machine and change no result; the command that a summary names leaves them out.
LOCAL = ("--data.path", "--data.cache", "--machine.")


def main(options: Namespace) -> None:
    """Read the grid, check everything, then train or print the plan; leave with 0 only when every run is finished."""
    grid = asked_grid(options)
    runs = prepare_runs(grid, options.output)
    chosen = [run for run in runs if run.name in options.only]
    console = make_console()
    if options.dry_run:
        console.print(plan_table(chosen))
        say(_time_left(chosen))
        return
    keep_pages(4096)
    with locked(options.output):
        if sys.stdout.isatty():
            with live_sweep_display(chosen, console) as watch:
                ending = sweep(chosen, watch=_with_summary(watch, runs, options))
        else:
            watch = plain_sweep_display(chosen, say)
            ending = sweep(chosen, watch=_with_summary(watch, runs, options))
        rows = keep_summary(options.summary, runs, options.command)
    if rows:
        console.print(summary_table(rows))
    _leave(chosen, options.output, ending)


def asked_grid(options: Namespace) -> Grid:
    """The grid that the command line asks for; the options get the folder, the summary and its command."""
    if announced_size() > 1:
        raise ConfigError("somamba sweep trains in one process. Under torchrun, train its runs by somamba train.")
    path = options.path
    grid = read_grid(path, options.fields)
    options.output = options.output or Path("runs", path.stem)
    options.summary = options.output / f"{path.stem}.csv"
    options.command = command(path, options.fields)
    options.only = options.only or list(grid.runs)
    _ = [grid.runs[name] for name in options.only]  # The registry refuses a name that no run has.
    return grid


def command(path: Path, fields: Sequence[str]) -> str:
    """What to type to train again, without the places of one machine."""
    words = ["somamba sweep", shlex.quote(str(Path(*path.parts[-2:]))), "--data.path $DATA"]
    skip = False
    for word in fields:
        skip = skip and not word.startswith("--")
        if word.startswith("--"):
            skip = word.startswith(LOCAL)
            name, equals, value = word.partition("=")
            word = f"{name.replace('_', '-')}{equals}{value}"
        if not skip:
            words.append(shlex.quote(word))
    return " ".join(words)


def plan_table(runs: Sequence[Run]) -> Table:
    """The table of runs and budgets that ``--dry-run`` prints."""
    table = Table(Column("run", no_wrap=True), "model", "state")
    for head in ("seed", "parameters", "done", "budget"):
        table.add_column(head, justify="right", no_wrap=True)
    for run in runs:
        done, recipe = run_status(run), run.recipe
        budget = counted(recipe.epochs, "epoch") if run.budget is None else duration(run.budget)
        steps = f"{done.steps:,} steps" if done.steps else "-"
        table.add_row(run.name, recipe.model, done.state, str(recipe.seed), f"{run.parameters:,}", steps, budget)
    return table


def _time_left(runs: Sequence[Run]) -> str:
    left = SweepTable(runs).seconds_left()
    if left is None:
        return "No budget is set; somamba train RECIPE --model NAME --dry-run measures how long a run takes."
    return f"{duration(left)} of training left; validations come on top."


def _with_summary(watch: Watcher, runs: Sequence[Run], options: Namespace) -> Watcher:
    """Keep the summary up to date as well, so that it lists the finished runs before the end and after a kill."""

    def both(name: str, event: Event) -> None:
        watch(name, event)
        if event["event"] == "state" and event["state"] == "finished":
            keep_summary(options.summary, runs, options.command)

    return both


def _leave(runs: Sequence[Run], folder: Path, ending: Ending) -> None:
    """Say how it ended, in words and by the exit code."""
    for name, reason in ending.failures.items():
        complain(f"run {name!r} failed: {reason}")
    finished = sum(run_status(run).state == "finished" for run in runs)
    then = " The same command goes on." if finished < len(runs) else ""
    say(f"{finished} of {len(runs)} runs are finished: {folder}.{then}")
    if ending.reason != "finished":
        sys.exit(RESUMABLE if ending.signal is None else 128 + ending.signal)
    if ending.failures:
        sys.exit(2)
