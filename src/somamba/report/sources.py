"""The sources of a report: run folders, result files, galleries and pictures, each recognised by its content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from somamba.bounded_yaml import MOST_BYTES, load_yaml
from somamba.durable import current
from somamba.errors import InputError
from somamba.regular_files import open_regular, read_regular
from somamba.report.names import method_place
from somamba.results.cost import CostRecord, read_costs
from somamba.results.gallery import KeptCase, is_gallery, read_gallery
from somamba.results.journal import JOURNAL, Event, read_journal
from somamba.results.leakage import LeakageRecord, read_leakage
from somamba.results.record import holds
from somamba.results.scores import ScoreRecord, read_scores
from somamba.results.setting import Subject
from somamba.results.sweep import SweepRecord, read_sweep

LARGEST_PICTURE = 1 << 28
PNG = b"\x89PNG\r\n\x1a\n"
WANTED = (
    "the folder of a run or of a sweep (journal.jsonl), a CSV file of somamba evaluate, leakage, cost or sweep, the "
    "folder of somamba evaluate --keep, or a PNG picture"
)


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """The folder of a training; the weights are not read."""

    name: str
    events: Sequence[Event]
    """Events of the journal."""
    config: Mapping[str, Any]
    """Configuration of the best checkpoint, or of the last if nothing was validated yet; empty if there is none."""
    recipe: str
    """The recipe of that checkpoint as YAML."""
    subject: Subject | None = None
    """What val.csv of the run says was evaluated; None if there is none."""

    @property
    def model(self) -> str:
        """Name of the network; if neither a checkpoint nor scores tell it, the name of the folder, often the same."""
        told = self.name.rpartition("/")[2] if self.subject is None else self.subject.method
        return str(self._recipe.get("model", told))

    @property
    def seed(self) -> int | None:
        """Seed of the training; None if neither a checkpoint nor scores tell it."""
        seed = self._recipe.get("seed", None if self.subject is None else self.subject.seed)
        return seed if isinstance(seed, int) else None

    @property
    def _recipe(self) -> Mapping[str, Any]:
        recipe = self.config.get("recipe")
        return recipe if isinstance(recipe, dict) else {}


@dataclass(kw_only=True)
class Sources:
    """All that was given, sorted by kind."""

    runs: list[TrainedRun] = field(default_factory=list)
    scores: list[ScoreRecord] = field(default_factory=list)
    leakage: list[LeakageRecord] = field(default_factory=list)
    costs: list[CostRecord] = field(default_factory=list)
    sweep: list[SweepRecord] = field(default_factory=list)
    cases: list[KeptCase] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    """PNG files by name."""


def gather(paths: Sequence[Path]) -> Sources:
    """Read everything that was given.

    Args:
        paths: Files and folders in any order.

    Raises:
        InputError: one of them is no source of a report, or is damaged.
    """
    if not paths:
        raise InputError(f"A report is made of something: give {WANTED}.")
    found = Sources()
    folders: list[Path] = []
    pictures: list[Path] = []
    for path in paths:
        if path.is_dir():
            folders += _take_folder(path, found)
        else:
            pictures += _take_file(path, found)
    found.pictures = {name: _picture(path) for name, path in zip(_names(pictures, "picture"), pictures, strict=True)}
    for folder, name in zip(folders, run_names(folders), strict=True):
        scores = read_scores(folder / "val.csv") if (folder / "val.csv").is_file() else []
        found.runs.append(_read_run(folder, name, scores[0].subject if scores else None))
        found.scores += scores
    found.runs.sort(key=lambda run: (method_place(run.model), run.name))
    return found


def _take_folder(path: Path, found: Sources) -> list[Path]:
    """The runs of a folder; a gallery is read at once."""
    if (path / JOURNAL).is_file():
        return [path]
    if is_gallery(path):
        found.cases += read_gallery(path)
        return []
    if runs := sorted(journal.parent for journal in path.glob(f"*/{JOURNAL}")):
        # Grids that share a folder share runs, and each lists them.
        summaries = [file for file in sorted(path.glob("*.csv")) if holds(file, SweepRecord)]
        told = {row.run: row for file in summaries for row in read_sweep(file)}
        found.sweep += told.values()
        return runs
    names = sorted(entry.name for entry in path.iterdir())
    inside = f"{', '.join(names[:5])}{', ...' if names[5:] else ''}" if names else "nothing"
    raise InputError(f"{path} is nothing a report is made of: it holds {inside}. Wanted: {WANTED}.")


def _take_file(path: Path, found: Sources) -> list[Path]:
    """The file if it is a picture; another one is read at once."""
    try:
        with open_regular(path) as file:
            start = file.read(10_000)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Wanted: {WANTED}.") from None
    if start.startswith(PNG):
        return [path]
    if holds(path, ScoreRecord):
        found.scores += read_scores(path)
    elif holds(path, LeakageRecord):
        found.leakage += read_leakage(path)
    elif holds(path, CostRecord):
        found.costs += read_costs(path)
    elif holds(path, SweepRecord):
        found.sweep += read_sweep(path)
    else:
        first = start.split(b"\n", 1)[0].decode(errors="replace").strip()
        raise InputError(f"{path} is nothing a report is made of: it begins with {first[:60]!r}. Wanted: {WANTED}.")
    return []


def _picture(path: Path) -> bytes:
    try:
        return read_regular(path, most=LARGEST_PICTURE)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def run_names(folders: Sequence[Path]) -> list[str]:
    """Names of the folders of runs, with their parent if two have the same; refused if one comes twice."""
    return _names(folders, "run")


def _names(paths: Sequence[Path], what: str) -> list[str]:
    whole = [path.resolve() for path in paths]
    if twice := [path for place, path in enumerate(whole) if path in whole[:place]]:
        raise InputError(f"The same {what} was given twice: {twice[0]}. Name it once.")
    names = [path.stem if path.is_file() else path.name for path in whole]
    return [
        f"{path.parent.name}/{name}" if names.count(name) > 1 else name for path, name in zip(whole, names, strict=True)
    ]


def _read_run(folder: Path, name: str, subject: Subject | None) -> TrainedRun:
    places = (current(folder / "best"), current(folder / "last"), folder)
    path = next((place / "config.yaml" for place in places if (place / "config.yaml").is_file()), None)
    config: Any = {}
    if path is not None:
        try:
            config = load_yaml(read_regular(path, most=MOST_BYTES))
        except (OSError, yaml.YAMLError) as error:
            raise InputError(f"{path} is damaged: {error}") from None
        if not isinstance(config, dict):
            raise InputError(f"{path} is not the config of a checkpoint: it holds no names with values.")
    recipe = yaml.safe_dump(config["recipe"], sort_keys=False, allow_unicode=True) if "recipe" in config else ""
    return TrainedRun(name=name, events=read_journal(folder / JOURNAL), config=config, recipe=recipe, subject=subject)
