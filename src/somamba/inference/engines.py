"""The engines that run jobs, by name, and the one that spreads them over a Ray cluster.

There every scan is a task, which is repeated elsewhere when its machine is lost.

Every machine needs the same somamba, and the same folders under the same names; results go straight there. They are
written whole, and a scan whose result is there is skipped, so a task that runs twice does no harm. Without a cluster,
Ray starts one on this machine. Ray itself packs what goes over the network: jobs and a request, no arrays.
"""

import logging
import os
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from somamba.errors import BackendError, ConfigError
from somamba.extras import require
from somamba.inference.jobs import (
    Engine,
    JobOutcome,
    OnSlice,
    ReconstructionRequest,
    WorkerFactory,
    leave_to_the_log,
    local,
)
from somamba.inference.plan import Job, Output
from somamba.inference.weights.trained import bundled_weights
from somamba.registry import Registry

RETRIES = 3
"""How often a scan is begun anew after its machine, or the process that worked on it, was lost."""
DOOR_SECONDS = 10.0


def spread(jobs: Sequence[Job], factory: WorkerFactory, on_slice: OnSlice) -> Iterator[JobOutcome]:
    """Hand every job to a machine that is free, and yield outcomes as they are ready.

    Args:
        jobs: The jobs.
        factory: Makes a worker on every machine.
        on_slice: Called when a scan is done, with the number of its slices.
    """
    ray = require("ray", extra="cluster")
    with _connected(ray):
        task = ray.remote(max_retries=RETRIES, scheduling_strategy="SPREAD", **_needs(ray, factory))(carry_out)
        sent = replace(factory, request=_located(factory.request), trained=None, on_adapting=leave_to_the_log)
        waiting = {task.remote(sent, _absolute(job)): job for job in jobs}
        try:
            while waiting:
                ready, _ = ray.wait(list(waiting), num_returns=1)
                job = waiting.pop(ready[0])
                outcome = _outcome(ray, ready[0], job)
                on_slice(job, outcome.slices, outcome.slices)
                yield outcome
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


def carry_out(factory: WorkerFactory, job: Job) -> JobOutcome:
    """Carry out one job on a machine of the cluster."""
    return factory()(job)


@contextmanager
def _connected(ray: ModuleType) -> Iterator[None]:
    """Join the cluster of this process, of ``RAY_ADDRESS`` or of this machine, or start one."""
    if ray.is_initialized():
        yield
        return
    # A cluster that is started here sends no usage statistics.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        _knock(os.environ.get("RAY_ADDRESS", ""))
        ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING)
    except Exception as error:  # Ray raises the bare class if its own processes start too slowly.
        reason = str(error).strip().splitlines()[0]
        raise BackendError(
            f"There is no way to a Ray cluster ({reason}). Start one with 'ray start --head' and name it in "
            "RAY_ADDRESS, or unset that: then one is started here."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Find out at once whether the address answers; Ray itself tries for minutes."""
    place = re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", address)
    if place is not None:
        socket.create_connection((place[1], int(place[2])), timeout=DOOR_SECONDS).close()


def _needs(ray: ModuleType, factory: WorkerFactory) -> dict[str, int]:
    """The resources of a task; those that no machine has are refused, because Ray would wait for them."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    processors, gpus = (int(max(machine.get(kind, 0) for machine in machines)) for kind in ("CPU", "GPU"))
    threads = factory.threads or 1
    if threads > processors:
        raise ConfigError(f"{threads} threads, but no machine of the Ray cluster offers more than {processors} CPUs.")
    if factory.device == "cuda" and not gpus:
        raise ConfigError("device='cuda', but no machine of the Ray cluster offers a GPU. Choose auto or cpu.")
    return {"num_cpus": threads, "num_gpus": int(gpus > 0 and factory.device != "cpu")}


def _located(request: ReconstructionRequest) -> ReconstructionRequest:
    """Return the request with paths that hold from any working directory."""
    folder = Path(request.weights)
    named = request.weights in bundled_weights() or not folder.is_dir()
    return replace(
        request,
        weights=request.weights if named else str(folder.absolute()),
        maps=None if request.maps is None else request.maps.absolute(),
        template=None if request.template is None else request.template.absolute(),
    )


def _absolute(job: Job) -> Job:
    outputs = tuple(Output(output.path.absolute(), output.format) for output in job.outputs)
    return Job(source=job.source.absolute(), outputs=outputs)


def _outcome(ray: ModuleType, reference: Any, job: Job) -> JobOutcome:
    try:
        return replace(ray.get(reference), job=job)
    except ray.exceptions.RayError as error:
        cause = str(getattr(error, "cause", None) or error).strip().splitlines()[0]
        reason = (
            f"{job.source}: no machine of the Ray cluster could reconstruct it ({cause}). Each needs this version of "
            "somamba and these folders; one that ran out of memory needs fewer tasks, by more --threads for each."
        )
        return JobOutcome(job=job, state="failed", reason=reason)


ENGINES: Registry[Engine] = Registry("engine", {"local": local, "ray": spread})
