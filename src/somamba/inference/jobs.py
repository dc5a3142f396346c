"""Scans one after the other, or many at a time: sound results are kept, and one failure does not stop the others.

An engine is a function that hands jobs to workers and yields their outcomes: `local` is one worker in this process,
`somamba.inference.engines.spread` is a Ray cluster.
"""

import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from somamba.errors import DataError, SomambaError
from somamba.inference.adaptation import Adaptation, AdaptationProgress, Adapted
from somamba.inference.plan import Job
from somamba.inference.preparation import RecoveryOptions
from somamba.inference.reconstruct import reconstruct
from somamba.inference.recovery import RecoveredSlice
from somamba.inference.weights.checkpoint import check_replaceable
from somamba.inference.weights.trained import DEFAULT, Trained, open_weights, save_trained
from somamba.inference.writers.stamp import StoredResult
from somamba.inference.writers.template import read_template
from somamba.inference.writers.writing import read_result, write
from somamba.raw.opening import open_raw_scan
from somamba.regular_files import open_regular
from somamba.runtime.device import find_device, use_threads

logger = logging.getLogger(__name__)

REQUEST = "request"
"""The provenance holds what decides a result under this key. If it is the same, the result need not be made again."""
NO_VOXEL = "The size of the voxels is not known: the NIfTI file says 1 without a unit."
Metric: TypeAlias = Callable[[object, object], Any]
"""Magnitude and truth of one slice to a named tuple of metrics, such as `somamba.evaluation.metrics.score`."""
Scores: TypeAlias = Mapping[str, Mapping[str, float | None]]
"""Method to metric to its mean over slices; None if it is not finite."""
OnSlice: TypeAlias = Callable[[Job, int, int], None]
"""A function that is called with a job, the number of its slices done, and the number of all."""
OnAdapting: TypeAlias = Callable[[Job, AdaptationProgress | Adapted], None]
"""A function that is called with a job and how far the adaptation to it is, the last time with what came of it."""


@dataclass(frozen=True, kw_only=True)
class ReconstructionRequest:
    """How every scan of a run is reconstructed."""

    weights: str = DEFAULT
    """The weights, as `open_weights` takes them."""
    recovery: RecoveryOptions = field(default_factory=RecoveryOptions)
    axes: tuple[str, ...] | None = None
    centred: bool | None = None
    maps: Path | None = None
    adaptation: Adaptation | None = None
    """Adapt a copy of the network to every scan first."""
    save_adapted: Path | None = None
    """A folder for the adapted checkpoint, for one scan."""
    template: Path | None = None
    """A DICOM file whose patient and study DICOM results get."""
    again: bool = False
    """Make results again that are there."""

    def options(self) -> dict[str, Any]:
        """What decides a result besides the scan and the weights."""
        return {
            **asdict(self.recovery),
            "adaptation": None if self.adaptation is None else asdict(self.adaptation),
            "axes": None if self.axes is None else list(self.axes),
            "centred": self.centred,
            "maps": None if self.maps is None else fingerprint(self.maps),
            "template": None if self.template is None else fingerprint(self.template),
        }


@dataclass(frozen=True, kw_only=True)
class JobOutcome:
    """How a job ended."""

    job: Job
    state: Literal["done", "there", "failed"]
    reason: str = ""
    """The reason why it failed."""
    slices: int = 0
    empty: int = 0
    """The number of slices without signal."""
    seconds: float = 0.0
    scores: Scores = field(default_factory=dict)
    """Scores against the whole scan, if it was undersampled for the comparison."""
    notes: tuple[str, ...] = ()
    """What a person should know about how the file was understood."""


class Worker:
    """Carries out jobs, one after the other, with a model that is opened once."""

    def __init__(self, factory: "WorkerFactory") -> None:
        """Open the weights, unless they are open, choose the device, and read the template if there is one."""
        use_threads(factory.threads)
        self.request, self.metric, self.on_adapting = factory.request, factory.metric, factory.on_adapting
        self.trained = factory.trained or open_weights(self.request.weights)
        self.device = find_device(factory.device)
        self.study = {} if self.request.template is None else read_template(self.request.template)

    def __call__(self, job: Job, on_slice: OnSlice = lambda _job, _done, _slices: None) -> JobOutcome:
        """Carry out a job; an error of any kind is its outcome."""
        try:
            return self._carry_out(job, on_slice)
        except SomambaError as error:
            return JobOutcome(job=job, state="failed", reason=str(error))
        except Exception as error:
            # Whatever goes wrong with one scan, the others go on.
            logger.debug("%s failed", job.source, exc_info=True)
            reason = f"{job.source}: {type(error).__name__}: {error}. This is not foreseen; please report it."
            return JobOutcome(job=job, state="failed", reason=reason)

    def _carry_out(self, job: Job, on_slice: OnSlice) -> JobOutcome:
        started = time.monotonic()
        asked, trained = self.request, self.trained
        request = {"input": fingerprint(job.source), "model": trained.name, "weights": trained.weights}
        request |= asked.options()
        results = _stored_results(job)
        same = [result is not None and result.provenance.get(REQUEST) == request for result in results]
        damaged = [
            path for (path, _), result in zip(job.outputs, results, strict=True) if result and not result.intact()
        ]
        if asked.save_adapted is not None:
            check_replaceable(asked.save_adapted)
        # A result that is there does not bring back the adapted network that is to be kept.
        if all(same) and not damaged and not asked.again and asked.save_adapted is None:
            return _outcome(job, "there", results[0].provenance if results[0] else {})
        scan = open_raw_scan(job.source, axes=asked.axes, centred=asked.centred, maps=asked.maps)
        _check_files(job, scan.slices)
        scores = _Scores(self.metric if asked.recovery.undersampling else None, trained.name)
        slices = iter(range(1, scan.slices + 1))

        def watch(recovered: RecoveredSlice | None) -> None:
            scores.add(recovered)
            on_slice(job, next(slices), scan.slices)

        def keep(adapted: Adapted) -> None:
            self.on_adapting(job, adapted)
            if asked.save_adapted is not None:
                save_trained(asked.save_adapted, adapted.trained)

        reconstruction = reconstruct(
            scan,
            trained,
            asked.recovery,
            adaptation=asked.adaptation,
            device=self.device,
            on_slice=watch,
            on_adapting=lambda progress: self.on_adapting(job, progress),
            on_adapted=keep,
        )
        more = {REQUEST: request, "slices": scan.slices, "scores": scores.means()}
        provenance = {"input": job.source.name, **reconstruction.provenance, **more}
        for output in job.outputs:
            write(replace(reconstruction, provenance=provenance, study=self.study), *output)
        outcome = replace(_outcome(job, "done", provenance), seconds=time.monotonic() - started)
        notes = [f"{path}: the result that was there is damaged; it was made again." for path in damaged]
        if reconstruction.voxel is None and any(name == "nii" for _, name in job.outputs):
            notes.append(NO_VOXEL)
        return replace(outcome, notes=(*outcome.notes, *notes))


def leave_to_the_log(_job: Job, _progress: AdaptationProgress | Adapted) -> None:
    """Leave the progress of an adaptation to the log."""


@dataclass(frozen=True, kw_only=True)
class WorkerFactory:
    """A factory of workers.

    It is small and serialisable without ``trained``: Ray ships it to a node, which opens the weights itself.
    """

    request: ReconstructionRequest
    """What to do with every scan."""
    trained: Trained | None = None
    """The model if it is open already."""
    metric: Metric | None = None
    """The comparison of a slice with the truth, if the request undersamples full scans."""
    device: str = "auto"
    threads: int | None = None
    """Threads on the CPU; None leaves their number as it is."""
    on_adapting: OnAdapting = leave_to_the_log
    """What is called while a network is adapted, in this process; workers on other machines call nothing."""

    def __call__(self) -> Worker:
        """Make the worker."""
        return Worker(self)


Engine: TypeAlias = Callable[[Sequence[Job], WorkerFactory, OnSlice], Iterator[JobOutcome]]


def local(jobs: Sequence[Job], factory: WorkerFactory, on_slice: OnSlice) -> Iterator[JobOutcome]:
    """Carry out one job after the other, in this process.

    Args:
        jobs: The jobs.
        factory: Makes the worker.
        on_slice: Called after every slice.
    """
    worker = factory()
    for job in jobs:
        yield worker(job, on_slice)


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file, or of both files of a BART pair."""
    digest = hashlib.sha256()
    try:
        for part in (path, path.with_suffix(".hdr")) if path.suffix == ".cfl" else (path,):
            with open_regular(part) as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}).") from error
    return digest.hexdigest()


def _stored_results(job: Job) -> list[StoredResult | None]:
    """What the results that are there say about themselves, read before the reconstruction, which may take hours."""
    try:
        return [read_result(*output) for output in job.outputs]
    except DataError as error:
        raise DataError(f"{error} So it is not replaced by a result; move it away, or choose another place.") from None


def _check_files(job: Job, slices: int) -> None:
    """Refuse a single DICOM file for several slices before they are reconstructed."""
    for path, _ in job.outputs:
        if path.name.endswith(".dcm") and slices > 1:
            raise DataError(f"{path}: {slices} slices are {slices} DICOM files. Name a folder: {path.with_suffix('')}")


class _Scores:
    """Metrics of the network and of the zero-filled image, collected slice by slice."""

    def __init__(self, metric: Metric | None, method: str) -> None:
        self._metric, self._method = metric, method
        self._found: dict[str, list[Any]] = {}

    def add(self, recovered: RecoveredSlice | None) -> None:
        if self._metric is None or recovered is None:
            return
        truth = np.abs(recovered.whole())
        for name, image in ((self._method, recovered.image), ("zero_filled", recovered.zero_filled())):
            self._found.setdefault(name, []).append(self._metric(np.abs(image), truth))

    def means(self) -> dict[str, dict[str, float | None]]:
        return {
            name: {metric: _mean([getattr(one, metric) for one in scores]) for metric in scores[0]._fields}
            for name, scores in self._found.items()
        }


def _mean(values: Sequence[float]) -> float | None:
    mean = sum(values) / len(values)
    return mean if math.isfinite(mean) else None


def _outcome(job: Job, state: Literal["done", "there"], provenance: Mapping[str, Any]) -> JobOutcome:
    return JobOutcome(
        job=job,
        state=state,
        slices=int(provenance.get("slices", 0)),
        empty=len(provenance.get("empty_slices", ())),
        scores=provenance.get("scores", {}),
        notes=tuple(provenance.get("notes", ())),
    )
