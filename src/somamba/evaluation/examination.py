"""One model on one split of a dataset: what a command that measures asks for, and the rows that come of it."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from somamba.data.case import Role
from somamba.data.catalog import split_entries
from somamba.data.config import DataConfig
from somamba.data.slices import SliceDataset, open_slices
from somamba.evaluation.evaluate import CaseScores, Provenance, evaluate, rows_of
from somamba.evaluation.gallery import GalleryRequest, Keeper
from somamba.evaluation.rows import Row
from somamba.inference.trained import Trained
from somamba.runtime.processes import ALONE, Processes


@dataclass(frozen=True, kw_only=True)
class Examination:
    """What is measured: everything that decides the result."""

    source: str
    """Folder of the checkpoint, or name of a model that has no weights."""
    data: DataConfig
    split: Role = "test"
    limit_cases: int | None = None
    """Only the first so many cases."""
    force: bool = False
    """Another protocol than the one of training was asked for on purpose."""

    def command(self, name: str = "evaluate", *more: str) -> str:
        """What to type to measure it again; where files lie on this machine is nobody's business."""
        path = Path(self.source)
        # Runs of several sweeps may have the same name: of their best weights the sweep is named as well.
        named = 3 if path.name in ("best", "last") else 2
        checkpoint = Path(*path.parts[-named:]) if path.is_absolute() else path
        words = [f"somamba {name}", shlex.quote(str(checkpoint)), "--dataset", self.data.dataset, "--data $DATA"]
        words += ["--split", self.split, "--protocol", self.data.protocol]
        words += ["--acceleration", f"{self.data.acceleration:g}"]
        words += ["--limit-cases", str(self.limit_cases)] if self.limit_cases is not None else []
        return " ".join([*words, *(["--force"] if self.force else []), *map(shlex.quote, more)])

    def slices(self, *, only: str | None = None) -> SliceDataset:
        """The data, opened; ``only`` one case of it."""
        return open_slices(self.data, self.split, limit_cases=self.limit_cases, only=only)

    def provenance(self, trained: Trained, dataset: SliceDataset, command: str) -> Provenance:
        """What every row says about the model and the measurement."""
        listed = len(split_entries(self.data.dataset, self.data.root, self.split))
        return Provenance(
            method=trained.name,
            split=self.split,
            split_cases=listed - len(dataset.left_out),
            epochs=trained.epochs,
            seed=trained.seed,
            parameters=trained.parameters,
            weights=trained.weights,
            command=command,
        )


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What came of an examination."""

    examination: Examination
    trained: Trained
    dataset: SliceDataset
    results: list[CaseScores]

    def about(self) -> Provenance:
        """What every row says about the model and the measurement."""
        return self.examination.provenance(self.trained, self.dataset, self.examination.command())

    def rows(self) -> list[Row]:
        """One row for each case."""
        return rows_of(self.results, self.dataset, self.about())


def examine(
    trained: Trained,
    examination: Examination,
    *,
    batch_size: int = 1,
    device: torch.device | str = "cpu",
    processes: Processes = ALONE,
    on_batch: Callable[[int, int], None] = lambda _done, _all: None,
    keep: GalleryRequest | None = None,
) -> Examined:
    """Open the data, measure, and ``keep`` the images of the first cases; see `evaluate` for the other arguments."""
    dataset = examination.slices()
    keeper = None if keep is None else Keeper(keep, dataset, trained)
    results = evaluate(
        trained.model.to(device),
        dataset,
        batch_size=batch_size,
        device=device,
        processes=processes,
        on_batch=on_batch,
        **({} if keeper is None else {"on_slice": keeper.take}),
    )
    examined = Examined(examination=examination, trained=trained, dataset=dataset, results=results)
    if keeper is not None:
        keeper.write(results, examined.about(), processes)
    return examined
