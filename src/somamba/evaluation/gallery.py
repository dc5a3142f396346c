"""Keeps the reconstructions of the first cases of an evaluation in a gallery; `somamba.results.gallery` has the files.

A gallery compares methods slice by slice, so all of them must have been given the same: a folder that holds another
measurement of a case, or another method under the same label, is refused before anything is computed.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from somamba.data.cache import PreparedCase
from somamba.data.slices import SliceDataset
from somamba.errors import InputError
from somamba.evaluation.evaluate import CaseScores, magnitude
from somamba.evaluation.metrics import Scores, score
from somamba.inference.recovery import merged
from somamba.inference.weights.trained import Trained
from somamba.options import check_at_least
from somamba.results.gallery import (
    KeptMeasurement,
    MeasurementFacts,
    MethodFacts,
    read_kept,
    safe_name,
    write_measurement,
    write_method,
)
from somamba.results.setting import Provenance
from somamba.runtime.processes import ALONE, Processes
from somamba.runtime.provenance import code_record

CASES = 2


@dataclass(frozen=True, kw_only=True)
class GalleryRequest:
    """The images that an evaluation keeps, and the folder for them."""

    folder: Path
    cases: int = CASES
    """Number of cases to keep, the first ones of the evaluation."""
    label: str | None = None
    """Name of the method in figures; by default the name of the model."""

    def __post_init__(self) -> None:
        check_at_least(self, cases=1)
        if self.label is not None and not (self.label.strip() and self.label.isprintable()):
            raise InputError(f"label={self.label!r}: a label needs at least one sign, and only signs that print.")


@dataclass(frozen=True, eq=False)
class _Kept:
    """One case on its way into the gallery."""

    case: PreparedCase
    indices: range
    """Its slices in the dataset."""
    measurement: KeptMeasurement
    coils: int
    """Number of images of a slice that are merged."""
    images: Tensor
    """(slices, y, x) complex, filled while the evaluation runs."""

    @property
    def fingerprint(self) -> str:
        """A digest of the fully sampled slices, as they were prepared."""
        values = np.stack([self.case[position] for position in range(len(self.case.slices))])
        return hashlib.sha256(values.tobytes()).hexdigest()[:16]


class GalleryWriter:
    """Takes the slices of an evaluation as they are computed, and writes those of the first cases at its end."""

    def __init__(self, request: GalleryRequest, dataset: SliceDataset, trained: Trained) -> None:
        """Measure the cases to be kept, and make sure that the folder can take them."""
        self.folder = request.folder
        self.trained = trained
        self.label = request.label or trained.name
        self.cases: list[_Kept] = []
        for case, indices in islice(dataset.by_case(), request.cases):
            self.cases.append(_measured(dataset, case, indices))
            self._check(self.cases[-1])
        self.scores = torch.zeros(self.cases[-1].indices.stop, len(Scores._fields), dtype=torch.float64)

    def take(self, index: int, images: Tensor, scores: Scores) -> None:
        """Remember one slice of the evaluation if it belongs to a case that is kept.

        Args:
            index: Number of the slice in the dataset.
            images: (coils, y, x), as the model returned them.
            scores: Scores of the slice.
        """
        for kept in self.cases:
            if index in kept.indices:
                kept.images[index - kept.indices.start] = merged(images[None])
                self.scores[index] = torch.tensor(scores, dtype=torch.float64)

    def write(self, results: Sequence[CaseScores], about: Provenance, processes: Processes = ALONE) -> None:
        """Collect the slices of all processes; the first one writes them.

        Args:
            results: Scores of all cases.
            about: What all records say about the model and the evaluation.
            processes: The processes that shared the evaluation.
        """
        # A slice is zero in all processes but the one that computed it, so these sums are exact.
        images = [torch.view_as_complex(processes.total(torch.view_as_real(kept.images))) for kept in self.cases]
        scores = processes.total(self.scores)
        if processes.rank > 0:
            return
        for kept, result, found in zip(self.cases, results, images, strict=False):
            folder, facts = self.folder / safe_name(kept.case.id), self._measurement_facts(kept, result, about)
            write_measurement(folder, kept.measurement, facts)
            here = scores[kept.indices.start : kept.indices.stop]
            write_method(folder, found.numpy(), self._method_facts(here, about, facts.digest))

    def _check(self, kept: _Kept) -> None:
        folder = self.folder / safe_name(kept.case.id)
        there, method = read_kept(folder, self.label)
        if there is not None and (there.case, there.digest) != (kept.case.id, kept.measurement.digest()):
            where = there.setting
            raise InputError(
                f"{folder} keeps case {there.case!r} of {where.dataset} measured otherwise ({where.mask} mask, "
                f"x{where.acceleration:g}); methods are compared on equal measurements only. Name another folder."
            )
        mine = (self.trained.name, self.trained.weights)
        if method is not None and (method.subject.method, method.subject.weights) != mine:
            raise InputError(
                f"{folder} already keeps other weights as {self.label!r} (a {method.subject.method}); give these a "
                "name of their own with --label."
            )

    def _measurement_facts(self, kept: _Kept, result: CaseScores, about: Provenance) -> MeasurementFacts:
        code = code_record()
        shown = magnitude(torch.from_numpy(kept.measurement.zero_filled)[:, None], protocol=about.setting.protocol)[
            :, 0
        ]
        scores = [score(image, target) for image, target in zip(shown, kept.measurement.target, strict=True)]
        return MeasurementFacts(
            setting=about.setting,
            sampled=result.sampled,
            case=kept.case.id,
            coils=kept.coils,
            digest=kept.measurement.digest(),
            data_fingerprint=kept.fingerprint,
            zero_filled_psnr=tuple(one.psnr for one in scores),
            zero_filled_ssim=tuple(one.ssim for one in scores),
            version=code["somamba"],
            commit=code["commit"],
        )

    def _method_facts(self, scores: Tensor, about: Provenance, digest: str) -> MethodFacts:
        config = self.trained.config
        metrics = {name: tuple(column) for name, column in zip(Scores._fields, scores.T.tolist(), strict=True)}
        return MethodFacts(
            subject=about.subject,
            label=self.label,
            steps=int(config.get("step", 0)),
            **metrics,
            recipe=dict(config.get("recipe", {})),
            code=dict(config.get("code", {})),
            command=about.command,
            measurement=digest,
        )


def _measured(dataset: SliceDataset, case: PreparedCase, indices: range) -> _Kept:
    """Measure the slices of a case again: the same seeds give the same values."""
    batches = [dataset.batch([index]) for index in indices]
    zero_filled = [batch.A.adjoint(batch.y)[0] for batch in batches]
    target = torch.cat([batch.target[:, 0] for batch in batches])
    masks = torch.cat([batch.mask[:, 0].expand(-1, *target.shape[1:]) for batch in batches])
    measurement = KeptMeasurement(
        target=target.numpy(),
        zero_filled=torch.stack([merged(images[None]) for images in zero_filled]).numpy(),
        mask=(masks[:1] if bool((masks == masks[:1]).all()) else masks).numpy(),
        slices=np.array(case.slices, dtype=np.int32),
    )
    images = torch.zeros(target.shape, dtype=torch.complex64)
    return _Kept(case, indices, measurement, coils=len(zero_filled[0]), images=images)
