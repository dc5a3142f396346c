"""Two-level outer-band leakage (Eqs. 26-31): how much of the state, and of its read-out, is fast in space.

L_r(Z)  share of the energy of Z at frequencies xi with rho(xi) > r        rho  distance from the centre, normalised
HLeak   L_r of H, the states of all tokens        RLeak  L_r of S, the read-out before the output projection
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from somamba.data.order import evaluation_shard
from somamba.data.slices import SliceDataset
from somamba.errors import ConfigError, InputError
from somamba.evaluation.sampling import FACTS, over_slices, sampled
from somamba.evaluation.trace import LANES, ScanTrace, record_scans, traced_units
from somamba.models.base import Reconstructor
from somamba.options import check_at_least, check_words
from somamba.physics.fourier import power_spectrum
from somamba.results.leakage import EPSILON, LeakageRecord, Levels
from somamba.results.scores import check_cases
from somamba.results.setting import Provenance, Sampled
from somamba.runtime.processes import ALONE, Processes
from somamba.shapes import Grid

Radius = Literal["corner", "side"]
CUTOFFS = (0.25, 0.35)
# Rounding must not put two frequencies at the same distance on different sides of a cutoff.
TIE = 1e-9


@dataclass(frozen=True, kw_only=True)
class LeakageConfig:
    """What is measured, and in which portions."""

    cutoffs: tuple[float, ...] = CUTOFFS
    """The cutoffs r, as shares of the normalised radius."""
    radius: Radius = "corner"
    """rho is 1 at the corner of the transform grid, or in the middle of its shorter side."""
    backend: str = "auto"
    """Scan that supplies the states; the numbers do not depend on it."""
    lanes: int = LANES
    """Lanes of the state scanned together; bounds the memory, the numbers do not depend on it."""

    def __post_init__(self) -> None:
        check_words(self)
        check_at_least(self, lanes=1)
        if not self.cutoffs or len(set(self.cutoffs)) != len(self.cutoffs):
            raise ConfigError(f"Leakage wants one or more different cutoffs, got {self.cutoffs}.")
        for cutoff in self.cutoffs:
            if not 0 <= cutoff < 1:
                raise ConfigError(f"A cutoff is a share of the radius, at least 0 and below 1; got {cutoff}.")


class CaseLeakage(NamedTuple):
    """Means over the slices of a case."""

    case: str
    slices: int
    sampled: Sampled
    units: tuple[tuple[Levels, ...], ...]
    """The leakage of every unit at every cutoff."""


def outer_band(size: tuple[int, int], cutoff: float, radius: Radius = "corner") -> Bool[Tensor, "rows columns"]:
    """The frequencies with ``rho > cutoff`` on a centred grid.

    Args:
        size: Rows and columns of the grid.
        cutoff: The cutoff r.
        radius: Where rho is 1, see `LeakageConfig`.
    """
    return squared_radius(size, radius) > cutoff**2 * (1 + TIE)


def squared_radius(size: tuple[int, int], radius: Radius = "corner") -> Float64[Tensor, "rows columns"]:
    """``rho^2`` on a centred grid; distances are in steps of the grid."""
    rows, columns = ((torch.arange(n, dtype=torch.float64) - n // 2).square() for n in size)
    halves = [n // 2 for n in size]
    unit = sum(half**2 for half in halves) if radius == "corner" else min(halves) ** 2
    return (rows[:, None] + columns) / unit


def leakage(
    parts: Iterable[Grid], cutoffs: Sequence[float], *, radius: Radius = "corner"
) -> Float64[Tensor, "batch cutoffs"]:
    """``L_r(Z)`` (Eq. 27) of a field that comes in parts, a few of its channels each.

    Args:
        parts: Each ``(batch, rows, columns, channels)``; only one is held at a time.
        cutoffs: The values of r.
        radius: What rho is measured in, see `outer_band`.
    """
    power: Tensor | None = None
    for here in map(power_spectrum, parts):  # without a name, a part is freed before the next one is made
        power = here if power is None else power + here
    if power is None:
        raise InputError("Leakage of a field without channels is not defined.")
    total = power.sum(dim=(1, 2)) + EPSILON
    size = (power.shape[1], power.shape[2])
    outside = [outer_band(size, cutoff, radius).to(power.device) for cutoff in cutoffs]
    return torch.stack([(power * band).sum(dim=(1, 2)) / total for band in outside], dim=1)


def trace_leakage(trace: ScanTrace, config: LeakageConfig) -> Float64[Tensor, "batch cutoffs 2"]:
    """HLeak and RLeak of one unit (Eq. 28)."""
    states = trace.state_grids(lanes=config.lanes, backend=config.backend)
    hleak = leakage(states, config.cutoffs, radius=config.radius)
    rleak = leakage([trace.readout_grid()], config.cutoffs, radius=config.radius)
    return torch.stack([hleak, rleak], dim=-1)


def measure_leakage(
    model: Reconstructor,
    dataset: SliceDataset,
    config: LeakageConfig,
    *,
    device: torch.device | str = "cpu",
    processes: Processes = ALONE,
    on_progress: Callable[[int, int], None] = lambda _done, _count: None,
) -> list[CaseLeakage]:
    """Reconstruct every slice and measure every unit on the way; mean over the slices of each case.

    Args:
        model: SO-Mamba or one of its variants, in evaluation mode, on ``device``.
        dataset: The slices; they are computed one at a time.
        config: What is measured.
        device: Device of the model.
        processes: The processes that share the work; all of them return the same result.
        on_progress: Called after every unit of every slice of this process with the number done and the number it has.

    Raises:
        InputError: no SO-Mamba unit, a state or read-out that is not finite, or processes with different data.
    """
    units = len(traced_units(model))
    mine = evaluation_shard(len(dataset), rank=processes.rank, world=processes.size)
    values = torch.zeros(len(dataset), units, len(config.cutoffs), 2, dtype=torch.float64)
    # How the slice was sampled, and how often each unit was measured on it.
    facts = torch.zeros(len(dataset), FACTS + units, dtype=torch.int64)
    for done, index in enumerate(mine):
        batch = dataset.batch([index])
        facts[index, :FACTS] = torch.tensor(sampled(batch.mask[0, 0]))

        def keep(trace: ScanTrace, index: int = index, done: int = done) -> None:
            values[index, trace.unit] = trace_leakage(trace, config)[0].cpu()
            facts[index, FACTS + trace.unit] += 1
            on_progress(done * units + trace.unit + 1, len(mine) * units)

        with torch.no_grad(), record_scans(model, keep):
            moved = batch.to(device)
            model(moved.y, moved.A)
        if not bool(values[index].isfinite().all()):
            name = f"Case {batch.case_ids[0]!r}, slice {batch.slices[0]}"
            raise InputError(f"{name}: a state or read-out has values that are not finite; leakage is not defined.")
    # A slice is zero in all processes but the one that computed it, so these sums are exact.
    values, facts = processes.total(values), processes.total(facts)
    if not bool((facts[:, FACTS:] == 1).all()):
        raise InputError("Some slices were measured twice or not at all; start all processes with the same data.")
    return _by_case(dataset, values, facts)


def leakage_records(
    results: Sequence[CaseLeakage], dataset: SliceDataset, config: LeakageConfig, about: Provenance
) -> list[LeakageRecord]:
    """One record for each case, unit and cutoff; refused if a case is missing or double.

    Args:
        results: What `measure_leakage` returned.
        dataset: The slices that were measured.
        config: What was measured.
        about: What all records say about the model and the measurement.
    """
    check_cases([result.case for result in results], [case.id for case in dataset.cases])
    return [
        LeakageRecord(
            **vars(about),
            sampled=result.sampled,
            radius=config.radius,
            case=result.case,
            slices=result.slices,
            unit=number,
            units=len(result.units),
            cutoff=float(cutoff),
            **levels._asdict(),
            eta=levels.eta,
        )
        for result in results
        for number, unit in enumerate(result.units, start=1)
        for cutoff, levels in zip(config.cutoffs, unit, strict=True)
    ]


def _by_case(dataset: SliceDataset, values: Tensor, facts: Tensor) -> list[CaseLeakage]:
    results = []
    for case, here in dataset.by_case():
        means = values[here.start : here.stop].mean(dim=0).tolist()
        units = tuple(tuple(Levels(*levels) for levels in unit) for unit in means)
        results.append(CaseLeakage(case.id, len(here), over_slices(facts[here.start : here.stop]), units))
    return results
