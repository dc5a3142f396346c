"""Slices to scores, scores to the mean of a case, cases to records.

Work is shared between processes by whole batches, and a batch is the same in every process: any number of processes
gives the same numbers, and every slice is scored exactly once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from somamba.data.batch import Batch
from somamba.data.order import evaluation_shard
from somamba.data.slices import SliceDataset
from somamba.errors import InputError
from somamba.evaluation.metrics import Scores, score
from somamba.evaluation.sampling import FACTS, over_slices, sampled
from somamba.models.base import Reconstructor
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.results.averages import Spread, spread
from somamba.results.scores import ScoreRecord, check_cases
from somamba.results.setting import Provenance, Sampled
from somamba.runtime.processes import ALONE, Processes
from somamba.shapes import CoilImages


class CaseScores(NamedTuple):
    """Means over the slices of a case, and how it was sampled."""

    case: str
    slices: int
    slices_left_out: int
    scores: Scores
    sampled: Sampled


def evaluate(
    model: Reconstructor,
    dataset: SliceDataset,
    *,
    batch_size: int = 1,
    device: torch.device | str = "cpu",
    processes: Processes = ALONE,
    on_progress: Callable[[int, int], None] = lambda _done, _count: None,
    on_slice: Callable[[int, Tensor, Scores], None] = lambda _index, _image, _scores: None,
) -> list[CaseScores]:
    """Score every slice and average within cases.

    Args:
        model: The model, in evaluation mode, on ``device``.
        dataset: The slices.
        batch_size: Number of slices computed together; only slices of one case share a batch.
        device: Device of the model.
        processes: The processes that share the work; all of them return the same result.
        on_progress: Called after every batch of this process with the number of batches done and the number it has.
        on_slice: Called for every slice of this process with its number, its images (coils, y, x) as the model returned
            them, on the CPU, and its scores.

    Raises:
        InputError: a reconstruction is not finite; the message names case and slice.
    """
    batches = _batches(dataset, batch_size)
    mine = evaluation_shard(len(batches), rank=processes.rank, world=processes.size)
    scores = torch.zeros(len(dataset), len(Scores._fields), dtype=torch.float64)
    # How the slice was sampled, and how often it was scored.
    facts = torch.zeros(len(dataset), FACTS + 1, dtype=torch.int64)
    for done, number in enumerate(mine, start=1):
        batch = dataset.batch(batches[number])
        images = reconstruct(model, batch.to(device))
        magnitudes = magnitude(images, protocol=dataset.config.protocol)
        for row, index in enumerate(batches[number]):
            found = _score(magnitudes[row, 0], batch, row)
            on_slice(index, images[row], found)
            scores[index] = torch.tensor(found, dtype=torch.float64)
            facts[index] = torch.tensor([*sampled(batch.mask[row, 0]), 1])
        on_progress(done, len(mine))
    # A slice is zero in all processes but the one that computed it, so these sums are exact.
    scores, facts = processes.total(scores), processes.total(facts)
    if not bool((facts[:, FACTS] == 1).all()):
        raise InputError("Some slices were scored twice or not at all; start all processes with the same data.")
    return _by_case(dataset, scores, facts)


@torch.no_grad()
def reconstruct(model: Reconstructor, batch: Batch) -> CoilImages:
    """The images that a model makes of a batch, on the CPU; refused if they are not finite."""
    images: CoilImages = model(batch.y, batch.A).cpu()
    finite = torch.view_as_real(images).isfinite().flatten(start_dim=1).all(dim=1)
    if not bool(finite.all()):
        row = finite.tolist().index(False)
        name = f"Case {batch.case_ids[row]!r}, slice {batch.slices[row]}"
        raise InputError(f"{name}: the reconstruction has values that are not finite; no metric is defined.")
    return images


def magnitude(images: CoilImages, *, protocol: str) -> Tensor:
    """The magnitude (batch, 1, y, x) that is compared with the target; protocol ``magnitude`` cuts it to [0, 1]."""
    merged = root_sum_of_squares(images)
    return merged.clamp(0, 1) if protocol == "magnitude" else merged


def score_records(results: Sequence[CaseScores], dataset: SliceDataset, about: Provenance) -> list[ScoreRecord]:
    """One record for each case of the dataset; refused if a case is missing or double.

    Args:
        results: What `evaluate` returned.
        dataset: The slices that were evaluated.
        about: What all records say about the model and the evaluation.
    """
    check_cases([result.case for result in results], [case.id for case in dataset.cases])
    return [
        ScoreRecord(
            **vars(about),
            **result.scores._asdict(),
            sampled=result.sampled,
            case=result.case,
            slices=result.slices,
            slices_left_out=result.slices_left_out,
        )
        for result in results
    ]


def summary(results: Sequence[CaseScores]) -> dict[str, Spread]:
    """Mean and standard deviation over cases, by metric."""
    return {name: spread([getattr(r.scores, name) for r in results]) for name in Scores._fields}


def _batches(dataset: SliceDataset, batch_size: int) -> list[range]:
    """At most ``batch_size`` consecutive slices of one case: cases may differ in size, the slices of one do not."""
    return [
        case[first : first + batch_size] for _, case in dataset.by_case() for first in range(0, len(case), batch_size)
    ]


def _score(image: Tensor, batch: Batch, row: int) -> Scores:
    try:
        return score(image, batch.target[row, 0])
    except InputError as error:
        raise InputError(f"Case {batch.case_ids[row]!r}, slice {batch.slices[row]}: {error}") from None


def _by_case(dataset: SliceDataset, scores: Tensor, facts: Tensor) -> list[CaseScores]:
    results = []
    for case, here in dataset.by_case():
        means = Scores(*scores[here.start : here.stop].mean(dim=0).tolist())
        where = over_slices(facts[here.start : here.stop])
        results.append(CaseScores(case.id, len(here), len(case.left_out), means, where))
    return results
