"""Scans one after the other, or many at a time: what is there is skipped, what fails is told, the rest goes on.

An engine is a function that hands jobs to workers and gives back their outcomes: `local` is one worker in this process.
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
from somamba.inference.plan import Job
from somamba.inference.raw.opening import open_raw_scan
from somamba.inference.reconstruct import Recovered, reconstruct
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights import DEFAULT, open_weights
from somamba.inference.writers.writing import read_provenance, write
from somamba.runtime.device import find_device
from somamba.runtime.threads import use_threads

logger = logging.getLogger(__name__)

REQUEST = "request"
"""Under this key the provenance holds what decides a result; where it is the same, the result is there."""
Metric: TypeAlias = Callable[[object, object], Any]
"""Magnitude and truth of one slice to a named tuple of metrics, such as `somamba.evaluation.metrics.score`."""
Scores: TypeAlias = Mapping[str, Mapping[str, float | None]]
"""Method to metric to its mean over slices; None where it is not finite."""
OnSlice: TypeAlias = Callable[[Job, int, int], None]
"""Hears which slice of how many is done."""


@dataclass(frozen=True, kw_only=True)
class ReconstructionRequest:
    """How every scan of a run is reconstructed."""

    weights: str = DEFAULT
    """See `open_weights`."""
    undersampling: Undersampling | None = None
    axes: tuple[str, ...] | None = None
    centred: bool | None = None
    maps: Path | None = None
    prewhiten: bool = True
    force: bool = False
    """See `reconstruct`, as the one before."""
    again: bool = False
    """Also make what is there."""

    def options(self) -> dict[str, Any]:
        """What decides a result besides the scan and the weights."""
        return {
            "undersampling": None if self.undersampling is None else asdict(self.undersampling),
            "axes": None if self.axes is None else list(self.axes),
            "centred": self.centred,
            "maps": None if self.maps is None else fingerprint(self.maps),
            "prewhiten": self.prewhiten,
            "force": self.force,
        }


@dataclass(frozen=True, kw_only=True)
class JobOutcome:
    """How a job ended."""

    job: Job
    state: Literal["done", "there", "failed"]
    reason: str = ""
    """Why it failed."""
    slices: int = 0
    empty: int = 0
    """Slices without signal."""
    seconds: float = 0.0
    scores: Scores = field(default_factory=dict)
    """Against the whole scan, where it was undersampled for it."""
    notes: tuple[str, ...] = ()
    """What a person should know about how the file was understood."""


class Worker:
    """Carries out jobs, one after the other, with a model that is opened once."""

    def __init__(
        self,
        request: ReconstructionRequest,
        *,
        metric: Metric | None = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        use_threads(threads)
        self.request, self.metric = request, metric
        self.trained = open_weights(request.weights)
        self.device = find_device(device)

    def __call__(self, job: Job, tell: OnSlice = lambda _job, _done, _slices: None) -> JobOutcome:
        """Carry out a job; whatever goes wrong is its outcome."""
        try:
            return self._carry_out(job, tell)
        except SomambaError as error:
            return JobOutcome(job=job, state="failed", reason=str(error))
        except Exception as error:
            # Whatever one scan dies of, the others go on.
            logger.debug("%s failed", job.source, exc_info=True)
            reason = f"{job.source}: {type(error).__name__}: {error}. This is not foreseen; please report it."
            return JobOutcome(job=job, state="failed", reason=reason)

    def _carry_out(self, job: Job, tell: OnSlice) -> JobOutcome:
        started = time.monotonic()
        request = {
            "input": fingerprint(job.source),
            "model": self.trained.name,
            "weights": self.trained.weights,
            **self.request.options(),
        }
        found = _found(job)
        asked = self.request
        if not asked.again and all(record is not None and record.get(REQUEST) == request for record in found):
            return _outcome(job, "there", found[0] or {})
        scan = open_raw_scan(job.source, axes=asked.axes, centred=asked.centred, maps=asked.maps)
        scores = _Scores(self.metric, self.trained.name)
        slices = iter(range(1, scan.slices + 1))

        def watch(recovered: Recovered | None) -> None:
            scores.add(recovered)
            tell(job, next(slices), scan.slices)

        reconstruction = reconstruct(
            scan,
            self.trained,
            undersampling=asked.undersampling,
            prewhiten=asked.prewhiten,
            force=asked.force,
            device=self.device,
            watch=watch,
        )
        more = {REQUEST: request, "slices": scan.slices, "scores": scores.means()}
        provenance = {"input": job.source.name, **reconstruction.provenance, **more}
        for output in job.outputs:
            write(replace(reconstruction, provenance=provenance), *output)
        return replace(_outcome(job, "done", provenance), seconds=time.monotonic() - started)


@dataclass(frozen=True, kw_only=True)
class WorkerFactory:
    """Makes a worker where it is to work; it can be sent to another machine, which a worker with its model need not."""

    request: ReconstructionRequest
    metric: Metric | None = None
    device: str = "auto"
    threads: int | None = None

    def __call__(self) -> Worker:
        """Open the model."""
        return Worker(self.request, metric=self.metric, device=self.device, threads=self.threads)


Engine: TypeAlias = Callable[[Sequence[Job], WorkerFactory, OnSlice], Iterator[JobOutcome]]


def local(jobs: Sequence[Job], factory: WorkerFactory, tell: OnSlice) -> Iterator[JobOutcome]:
    """One job after the other, in this process."""
    worker = factory()
    for job in jobs:
        yield worker(job, tell)


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file; of both files of a BART pair."""
    digest = hashlib.sha256()
    try:
        for part in (path, path.with_suffix(".hdr")) if path.suffix == ".cfl" else (path,):
            if part.exists() and not part.is_file():
                raise DataError(f"{part}: it is not a file.")
            with part.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}).") from error
    return digest.hexdigest()


def _found(job: Job) -> list[dict[str, Any] | None]:
    """What the results that are there say of themselves; asked before hours of work, not after."""
    try:
        return [read_provenance(*output) for output in job.outputs]
    except DataError as error:
        raise DataError(f"{error} So it is not replaced by a result; move it away, or choose another place.") from None


class _Scores:
    """Metrics of the network and of the zero-filled image, added up slice by slice."""

    def __init__(self, metric: Metric | None, method: str) -> None:
        self._metric, self._method = metric, method
        self._found: dict[str, list[Any]] = {}

    def add(self, recovered: Recovered | None) -> None:
        if self._metric is None or recovered is None or recovered.whole is None:
            return
        for name, image in ((self._method, recovered.image), ("zero_filled", recovered.zero_filled)):
            self._found.setdefault(name, []).append(self._metric(np.abs(image), np.abs(recovered.whole)))

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
