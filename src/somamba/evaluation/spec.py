"""The evaluation of one model on one split of a dataset: what decides it, and the records that it gives."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from somamba.data.case import Role
from somamba.data.catalog import split_entries
from somamba.data.config import DataConfig
from somamba.data.slices import SliceDataset, open_slices
from somamba.evaluation.evaluate import CaseScores, evaluate, score_records, summary
from somamba.evaluation.gallery import GalleryRequest, GalleryWriter
from somamba.inference.weights.trained import Trained
from somamba.notebook import html_table
from somamba.results.scores import ScoreRecord
from somamba.results.setting import Provenance, Setting, Subject
from somamba.runtime.processes import ALONE, Processes


@dataclass(frozen=True, kw_only=True)
class EvaluationSpec:
    """Everything that decides the result of an evaluation."""

    source: str
    """Folder of the checkpoint, or name of a model that has no weights."""
    data: DataConfig
    split: Role = "test"
    limit_cases: int | None = None
    """Number of cases to evaluate, the first ones of the split; None for all."""
    force: bool = False
    """Whether another protocol than the one of training was asked for on purpose."""

    def command(self, name: str = "evaluate", *more: str) -> str:
        """The command that measures it again; folders of this machine are left out."""
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

    def setting(self) -> Setting:
        """What records say about the data."""
        data = self.data
        return Setting(
            dataset=data.dataset,
            split=self.split,
            protocol=data.protocol,
            mask=data.mask_kind,
            acceleration=float(data.acceleration),
        )

    def provenance(self, trained: Trained, dataset: SliceDataset, command: str) -> Provenance:
        """What all records say about the model and the evaluation.

        Args:
            trained: The model that is evaluated.
            dataset: The slices, as `slices` opened them.
            command: The command that measures it again.
        """
        listed = len(split_entries(self.data.dataset, self.data.root, self.split, validation=self.data.validation))
        return Provenance(
            subject=subject(trained),
            setting=self.setting(),
            cases=len(dataset.cases),
            split_cases=listed - len(dataset.left_out),
            command=command,
        )


def subject(trained: Trained) -> Subject:
    """What records say about a model."""
    return Subject(
        method=trained.name,
        epochs=trained.epochs,
        seed=trained.seed,
        parameters=trained.parameters,
        weights=trained.weights,
    )


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """The scores of an evaluation, and what they belong to."""

    spec: EvaluationSpec
    trained: Trained
    dataset: SliceDataset
    scores: list[CaseScores]

    def about(self) -> Provenance:
        """What all records say about the model and the evaluation."""
        return self.spec.provenance(self.trained, self.dataset, self.spec.command())

    def records(self) -> list[ScoreRecord]:
        """One record for each case."""
        return score_records(self.scores, self.dataset, self.about())

    def _repr_html_(self) -> str:
        """Mean and standard deviation over the cases, as a notebook shows them."""
        setting = self.spec.setting()
        rows = {
            "method": self.trained.name,
            "data": f"{setting.dataset}, {setting.split}, {len(self.scores)} cases",
            "acceleration": f"{setting.acceleration:g}, {setting.mask}",
            **{name.upper(): f"{one.mean:.4g} ± {one.std:.2g}" for name, one in summary(self.scores).items()},
        }
        return html_table(rows)


def run_evaluation(
    trained: Trained,
    spec: EvaluationSpec,
    *,
    batch_size: int = 1,
    device: torch.device | str = "cpu",
    processes: Processes = ALONE,
    on_progress: Callable[[int, int], None] = lambda _done, _count: None,
    keep: GalleryRequest | None = None,
) -> EvaluationResult:
    """Open the data, evaluate, and keep the images of the first cases.

    Args:
        trained: The model.
        spec: What is evaluated.
        batch_size: Number of slices computed together.
        device: Device that computes.
        processes: The processes that share the work; all of them return the same result.
        on_progress: Called after every batch with the number of batches done and the number of all.
        keep: The gallery that takes the images; None to keep none.
    """
    dataset = spec.slices()
    gallery = None if keep is None else GalleryWriter(keep, dataset, trained)
    scores = evaluate(
        trained.model.to(device),
        dataset,
        batch_size=batch_size,
        device=device,
        processes=processes,
        on_progress=on_progress,
        **({} if gallery is None else {"on_slice": gallery.take}),
    )
    result = EvaluationResult(spec=spec, trained=trained, dataset=dataset, scores=scores)
    if gallery is not None:
        gallery.write(scores, result.about(), processes)
    return result
