"""The runs of a grid, one after another: each trained, then its best weights measured on the validation cases.

A run that fails is reported and the others go on. Runs that are finished are skipped and those that
were stopped are resumed, so a sweep that ended for whatever reason is started again by the same command.
"""

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from somamba.data.catalog import split_entries
from somamba.durable import replace_file
from somamba.errors import ConfigError, SomambaError, StorageError
from somamba.evaluation.spec import EvaluationSpec, run_evaluation
from somamba.inference.weights.trained import open_model
from somamba.results.journal import Event
from somamba.results.record import write_records
from somamba.runtime.processes import joined
from somamba.training.loop import build_model, fit
from somamba.training.recipe import Recipe
from somamba.training.stop import StopRequest
from somamba.training.sweep.grid import Grid
from somamba.training.sweep.run_status import Run, State, run_status

Watcher = Callable[[str, Event], None]
"""A function that is called with the name of a run and an event: of its journal, or ``state`` and ``measured``."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a session of a sweep ended."""

    reason: Literal["finished", "time", "signal"]
    signal: int | None
    failures: Mapping[str, str]
    """What went wrong, by run."""


def prepare_runs(grid: Grid, folder: Path) -> list[Run]:
    """Check all that can be checked before the first run starts: networks are built once, data and folders looked at.

    Raises:
        SomambaError: something of this would have failed later.
    """
    runs = []
    for name, recipe in grid.runs.items():
        try:
            for split in ("train", "val"):
                split_entries(recipe.data.dataset, recipe.data.root, split, validation=recipe.data.validation)
            parameters = build_model(recipe).parameter_count
            run = Run(name=name, recipe=recipe, folder=folder / name, parameters=parameters)
            run_status(run)
        except SomambaError as error:
            raise ConfigError(f"{grid.path}, run {name!r}: {error}") from None
        runs.append(run)
    return runs


def sweep(runs: Sequence[Run], *, watch: Watcher = lambda _name, _event: None) -> Ending:
    """Train and measure what is not finished; ``machine.max_minutes`` bounds the session as a whole.

    Args:
        runs: See `prepare_runs`.
        watch: Function that is called with every event.
    """
    started, failures = time.monotonic(), dict[str, str]()
    with StopRequest() as request:
        for run in runs:
            if run_status(run).state == "finished":
                continue
            state, note = _attempt(run, request, started, watch)
            watch(run.name, {"event": "state", "state": state, "note": note})
            if state == "failed":
                failures[run.name] = note
            if state == "stopped":
                reason: Literal["time", "signal"] = "time" if request.signal is None else "signal"
                return Ending(reason=reason, signal=request.signal, failures=failures)
    return Ending(reason="finished", signal=None, failures=failures)


def _attempt(run: Run, request: StopRequest, started: float, watch: Watcher) -> tuple[State, str]:
    """How a run ended, and in words why it failed if it did."""
    try:
        return _carry_out(run, request, started, watch), ""
    except Exception as error:  # noqa: BLE001 - whatever one run dies of, the others go on
        # A signal reaches the processes that read files as well: what they die of then is no fault of the run.
        return ("failed", _report(run, error)) if request.signal is None else ("stopped", "")


def _carry_out(run: Run, request: StopRequest, started: float, watch: Watcher) -> Literal["finished", "stopped"]:
    """Train a run to its end, then measure it; or as far as time and signals allow."""
    recipe = _within_session(run.recipe, started)
    if recipe is None or request.signal is not None:
        return "stopped"
    watch(run.name, {"event": "state", "state": "training", "note": ""})
    outcome = fit(recipe, run.folder, resume=True, tell=lambda event: watch(run.name, event), stop=request)
    if outcome.reason != "finished" or request.signal is not None:
        return "stopped"
    watch(run.name, {"event": "state", "state": "measuring", "note": ""})
    try:
        _measure(run, request, watch)
    except _StoppedError:
        return "stopped"
    (run.folder / ERROR).unlink(missing_ok=True)
    return "finished"


def _within_session(recipe: Recipe, started: float) -> Recipe | None:
    """The recipe with what is left of the session's time; None if nothing is left."""
    limit = recipe.machine.max_minutes
    if limit is None:
        return recipe
    left = limit - (time.monotonic() - started) / 60
    return replace(recipe, machine=replace(recipe.machine, max_minutes=left)) if left > 0 else None


def _measure(run: Run, request: StopRequest, watch: Watcher) -> None:
    """Write the rows that ``somamba evaluate`` would write for the best weights."""

    def on_progress(done: int, count: int) -> None:
        watch(run.name, {"event": "measured", "done": done, "count": count})
        if request.signal is not None:
            raise _StoppedError

    best = str(run.folder / "best")
    spec = EvaluationSpec(source=best, data=run.recipe.data, split="val")
    with joined(run.recipe.machine.device) as world:
        result = run_evaluation(open_model(best), spec, device=world.device, on_progress=on_progress)
    write_records(run.results, result.records())


def _report(run: Run, error: Exception) -> str:
    """What went wrong in one line; if it is no error of ours, the traceback lies beside the run."""
    if isinstance(error, SomambaError):
        return str(error)
    with suppress(StorageError):  # The disk may be what is wrong.
        replace_file(run.folder / ERROR, "".join(traceback.format_exception(error)).encode())
    return f"{type(error).__name__}: {error} (see {run.folder / ERROR})"


class _StoppedError(Exception):
    """A signal came while weights were measured."""


ERROR = "error.txt"
