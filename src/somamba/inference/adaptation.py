"""A network adapted to one scan, by the scan's own samples: no truth is needed, and held-out samples decide.

Some of the acquired lines are never shown. In every step a third of the samples of the others is held out of the
input, in some rows of the image, and the network learns to predict it (zero-shot self-supervision, Yaman et al., ICLR
2022). The lines that were never shown say when to stop, and whether the average of the weights is better than what it
began with: if not, nothing is changed. A volume is adapted to once, on a few slices that are spread over it.
"""

import copy
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from somamba.errors import ConfigError, InputError
from somamba.inference.preparation import Preparation
from somamba.inference.weights.adaptations import RECORD, adaptations, samples_digest
from somamba.inference.weights.checkpoint import weights_digest
from somamba.inference.weights.trained import Trained, refinement_config
from somamba.models.base import Reconstructor
from somamba.models.refined import Refined, RefinementConfig, Strengths
from somamba.models.soft_sense import SoftSense
from somamba.physics.held_out import HeldOut, hold_out, sampled_mask, scattered, some_rows, split
from somamba.physics.operator import LinearOperator

logger = logging.getLogger(__name__)

NOTHING_MISSING = "nothing is missing of this scan, so there is nothing to learn; the network is unchanged"
NO_GAIN = "no gain on the held-out samples; the network is unchanged"


@dataclass(frozen=True, kw_only=True)
class Adaptation:
    """How a network is adapted to a scan."""

    steps: int | None = None
    """How many steps; None takes at most `MOST_STEPS` and stops when the held-out samples get no better."""
    learning_rate: float = 1e-3
    """The rate of Adam."""
    average: float = 0.9
    """The weights that are judged and kept are a moving average over the steps, with this decay."""
    rows: int = 64
    """A step looks at so many rows of the image, drawn anew, if whole columns were acquired."""
    slices: int = 3
    """Slices of a volume to adapt to, spread over it."""
    check_every: int = 10
    """Steps between two looks at the held-out samples."""
    patience: int = 3
    """So many looks at the held-out samples without improvement end the adaptation."""
    hidden: float = 0.3
    """Share of the samples that a step holds out and learns to predict."""
    seed: int = 0
    """The seed of everything that is drawn."""

    def __post_init__(self) -> None:
        for name in ("slices", "check_every", "patience", "rows"):
            if getattr(self, name) < 1:
                raise ConfigError(f"adaptation.{name}={getattr(self, name)} must be at least 1.")
        if self.steps is not None and self.steps < 1:
            raise ConfigError(f"{self.steps} steps adapt nothing; choose at least 1, or auto.")
        if not (0 < self.hidden < 1 and 0 <= self.average < 1 and self.learning_rate > 0):
            raise ConfigError(
                f"adaptation: hidden={self.hidden:g} and average={self.average:g} must lie between 0 and 1, and "
                f"learning_rate={self.learning_rate:g} must be positive."
            )


MOST_STEPS = 200
"""Most steps of an adaptation that stops by itself."""


@dataclass(frozen=True)
class AdaptationProgress:
    """How far an adaptation is."""

    step: int
    steps: int
    """The largest number of steps."""
    residual: float
    """Residual of the held-out samples at the last look; 0 predicts them exactly."""
    seconds_left: float
    """Upper bound on the seconds that are left, from the steps so far; infinite before the first step."""


OnProgress = Callable[[AdaptationProgress], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Adapted:
    """The network for a scan, and how it came about."""

    trained: Trained
    record: Mapping[str, Any]
    """What the provenance records: settings, slices, held-out residual before and after, the step that was kept, and
    the outcome in words; the scan, the weights it began with and what these were adapted to
    (`somamba.inference.weights.adaptations`). A scan of which nothing is missing is adapted to on no slice."""


@dataclass(frozen=True, eq=False)
class _Slice:
    """One slice to adapt to."""

    parts: HeldOut
    """What is shown, and the lines that decide."""
    strengths: Strengths | None
    """Strengths of the last step; None if none follows."""


def adapt(
    preparation: Preparation,
    trained: Trained,
    settings: Adaptation | None = None,
    *,
    device: torch.device | str = "cpu",
    on_progress: OnProgress = lambda _progress: None,
) -> Adapted:
    """Adapt a network to a scan; the one that is given is not touched.

    Args:
        preparation: The scan.
        trained: The network; it must have something to learn.
        settings: Steps, rate, slices and seed.
        device: Where it runs.
        on_progress: Called after every look at the held-out samples, the first time before any step.

    Returns:
        The adapted network, or the given one if the held-out samples got no better, or if nothing is missing.

    Raises:
        InputError: a model without weights, or a scan without signal.
    """
    settings = settings or Adaptation()
    if trained.parameters == 0:
        raise InputError(f"{trained.name} has no weights, so there is nothing to adapt.")
    generator = torch.Generator().manual_seed(settings.seed)
    network = copy.deepcopy(trained.model).to(device)
    refined = Refined(SoftSense(network), refinement_config(trained)) if preparation.refines(trained) else None
    numbers, slices = _chosen(preparation, refined, settings.slices, device)
    run = _Run(network, slices, settings, generator, on_progress)
    began = time.perf_counter()
    if slices:
        run.go()
    record = {
        **asdict(settings),
        "slices_used": numbers,
        "steps_done": run.step,
        "kept_step": run.kept_step,
        "residual_before": run.first if slices else None,
        "residual_after": run.best if slices else None,
        "seconds": time.perf_counter() - began,
        "outcome": run.outcome(),
        "parent": trained.weights,
        "samples": samples_digest(preparation.acquired, numbers),
        "earlier": adaptations(trained.config),
    }
    logger.info("%s", record["outcome"])
    if run.kept_step == 0:
        return Adapted(trained=trained, record=record)
    network.load_state_dict(run.kept)
    network.eval()
    config = {**trained.config, RECORD: record}
    adapted = replace(trained, model=network, weights=weights_digest(network.state_dict()), config=config)
    return Adapted(trained=adapted, record=record)


class _Run:
    """One adaptation: its steps, and the best weights so far."""

    def __init__(
        self,
        network: Reconstructor,
        slices: Sequence[_Slice],
        settings: Adaptation,
        generator: torch.Generator,
        on_progress: OnProgress,
    ) -> None:
        self.network, self.slices, self.settings = network, slices, settings
        self.method = SoftSense(network)
        self.generator, self.on_progress = generator, on_progress
        self.average = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(settings.average))
        self.optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
        self.step = 0
        self.first = self.best = math.inf
        self.kept_step = 0
        self.kept: dict[str, Tensor] = {}

    def go(self) -> None:
        """Take the steps; look at the held-out samples in between."""
        steps = self.settings.steps or MOST_STEPS
        self.first = self.best = self._look(steps, math.inf)
        began, without_gain = time.perf_counter(), 0
        while self.step < steps:
            self._step(self.slices[self.step % len(self.slices)].parts)
            self.step += 1
            if self.step == 1:
                logger.info("a step takes %.1f s: at most %.0f s", *self._times(began, steps))
            if self.step % self.settings.check_every and self.step < steps:
                continue
            residual = self._look(steps, self._times(began, steps)[1])
            without_gain = 0 if residual < self.best else without_gain + 1
            if residual < self.best:
                self.best, self.kept_step = residual, self.step
                self.kept = {name: value.detach().clone() for name, value in self.average.module.state_dict().items()}
            if self.settings.steps is None and without_gain >= self.settings.patience:
                break

    def outcome(self) -> str:
        """What came of it, in words."""
        if not self.slices:
            return NOTHING_MISSING
        if self.kept_step == 0:
            return NO_GAIN
        return f"kept step {self.kept_step}: held-out residual {self.first:.4f} -> {self.best:.4f}"

    def _times(self, began: float, steps: int) -> tuple[float, float]:
        """Seconds of a step, and at most so many are left."""
        each = (time.perf_counter() - began) / self.step
        return each, each * (steps - self.step)

    def _step(self, one: HeldOut) -> None:
        """Learn to predict some of the samples that are shown from the others, in some rows."""
        self.network.train()
        y, A = one.y, one.A
        height, rows = y.shape[-2], self.settings.rows
        if height > rows and sampled_mask(A).shape[-2] == 1:
            first = int(torch.randint(height - rows + 1, (), generator=self.generator))
            y, A = some_rows(y, A, slice(first, first + rows))
        hidden = scattered(sampled_mask(A), y.shape[-2], self.settings.hidden, self.generator)
        parts = split(y, A, hidden)
        residual = parts.residual(self.method(parts.y, parts.A)).sum()
        self.optimiser.zero_grad()
        residual.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimiser.step()
        self.average.update_parameters(self.network)

    @torch.no_grad()
    def _look(self, steps: int, seconds_left: float) -> float:
        """The residual of what is never shown, mean over the slices, in the image behind the last step."""
        method = SoftSense(cast("Reconstructor", self.average.module.eval()))
        refined = Refined(method)
        found = []
        for one in self.slices:
            refined.fixed = one.strengths
            image = (method if one.strengths is None else refined)(one.parts.y, one.parts.A)
            found.append(one.parts.residual(image).mean())
        residual = float(torch.stack(found).mean())
        progress = AdaptationProgress(self.step, steps, residual, seconds_left)
        logger.info("step %d of at most %d: held-out residual %.4f", self.step, steps, residual)
        self.on_progress(progress)
        return residual


def _chosen(
    preparation: Preparation, refined: Refined | None, most: int, device: torch.device | str
) -> tuple[list[int], list[_Slice]]:
    """Slices with signal, spread over the volume, each with the samples that are never shown and decide.

    They are the first set that the last step chooses its strengths by, so they also measure the adapted network. Slices
    of which nothing is missing are left out: what is held out of them is not what a network has to predict.
    """
    count = preparation.scan.slices
    wanted = min(most, count)
    places = {int((index + 0.5) * count / wanted) for index in range(wanted)}
    order = [*sorted(places), *(index for index in range(count) if index not in places)]
    numbers: list[int] = []
    slices: list[_Slice] = []
    looked = 0
    for index in order:
        if looked == wanted:
            break
        prepared = preparation.slice(index)
        if prepared is None:
            continue
        found: list[_Slice] = []

        def keep(y: Tensor, A: LinearOperator, found: list[_Slice] = found) -> Tensor:
            if not bool(sampled_mask(A).all()):
                strengths = None if refined is None else refined.strengths(y, A)
                found.append(_Slice(hold_out(y, A, RefinementConfig.seed), strengths))
            return A.adjoint(y)

        if prepared.recover(keep, device) is not None:
            looked += 1
            numbers += [index] * len(found)
            slices += found
    if not looked:
        raise InputError(f"{preparation.scan.path}: there is no signal in it, so nothing to adapt to.")
    return numbers, slices
