"""The status of a run of a sweep, read from its folder: what was finished is not done again, the rest goes on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from somamba.errors import ConfigError
from somamba.inference.weights.checkpoint import has_checkpoint, read_config
from somamba.results.journal import JOURNAL, read_journal
from somamba.training.recipe import Recipe, differences

State = Literal["waiting", "stopped", "training", "measuring", "finished", "failed"]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training of a sweep, in a folder that ``somamba train`` knows as well."""

    name: str
    recipe: Recipe
    folder: Path
    parameters: int

    @property
    def results(self) -> Path:
        """Rows of the best weights on the validation cases; written last, so that they say that all is done."""
        return self.folder / "val.csv"

    @property
    def budget(self) -> float | None:
        """Seconds of training; None if epochs decide."""
        return None if self.recipe.minutes is None else 60 * self.recipe.minutes


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """What was done of a run."""

    state: State = "waiting"
    steps: int = 0
    seconds: float = 0.0
    """Seconds that the steps took."""
    best: float | None = None
    """PSNR of the best validation so far."""


def run_status(run: Run) -> RunStatus:
    """Look into the folder of a run.

    Raises:
        ConfigError: it holds a run of another recipe, whose results must not be taken for this one's.
    """
    finished = run.results.is_file() and has_checkpoint(run.folder / "best")
    place = run.folder / ("best" if finished else "last")
    if not has_checkpoint(place):
        return RunStatus()
    record = read_config(place).get("recipe", {})
    if changes := differences(run.recipe, record, source=str(place), may_grow=not finished):
        raise ConfigError(
            f"{run.folder} holds a run of another recipe ({'; '.join(changes[:4])}). Give another --output, or move "
            "that folder away."
        )
    steps = [event for event in read_journal(run.folder / JOURNAL) if event["event"] == "step"]
    if not finished:
        reached = read_config(place).get("step") or 0
        steps = [event for event in steps if event["step"] <= reached]
    return RunStatus(
        state="finished" if finished else "stopped",
        steps=len(steps),
        seconds=sum((event["seconds"] for event in steps), 0.0),
        best=_best(run.folder / "best"),
    )


def _best(folder: Path) -> float | None:
    validation: Mapping[str, Any] = (read_config(folder).get("validation") if has_checkpoint(folder) else None) or {}
    return validation.get("psnr")
