"""The steps of a session, one after the other, and the count of them.

A GPU works through a queue. If the host waited for the loss of every step, the queue would run dry while the next
slices are prepared. So there a step is handed over, with its slices, before the numbers of the last one are read. On a
CPU nothing is ever ahead: a step is over when it returns.
"""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch

from somamba.data.batch import Batch
from somamba.models.base import Reconstructor
from somamba.runtime.device import runs_ahead
from somamba.runtime.processes import World
from somamba.training.average import WeightAverage
from somamba.training.plan import Plan
from somamba.training.progress import Progress, seed_step
from somamba.training.recipe import Recipe
from somamba.training.run.journal import Journal
from somamba.training.step import Launched, Requests, advance, take_step


class Upcoming:
    """The micro-batches of one step after the other, on the device."""

    def __init__(self, stream: Iterator[list[Batch]], device: torch.device) -> None:
        """Take batches from a stream.

        Args:
            stream: The micro-batches of each step, on the CPU.
            device: The device they are sent to.
        """
        self._stream, self._device = stream, device
        self._prepared: list[Batch] | None = None

    def take(self) -> list[Batch]:
        """Return the micro-batches of the next step."""
        batches, self._prepared = self._prepared or self._fetch(), None
        return batches

    def prepare(self) -> None:
        """Read the next step's slices and send them, while a device that runs ahead computes; else do nothing."""
        if runs_ahead(self._device) and self._prepared is None:
            self._prepared = self._fetch()

    def _fetch(self) -> list[Batch]:
        return [batch.to(self._device) for batch in next(self._stream)]


@dataclass(kw_only=True)
class Steps:
    """Takes steps and keeps the progress of the run."""

    model: Reconstructor
    optimiser: torch.optim.Optimizer
    recipe: Recipe
    plan: Plan
    world: World
    average: WeightAverage | None
    """The moving average that follows the steps."""
    journal: Journal
    upcoming: Upcoming
    progress: Progress
    """How far the run is, as far as the numbers of its steps are known."""
    _launched: deque[tuple[Launched, float]] = field(default_factory=deque)
    """Steps whose numbers have not been read, and when each began."""
    _last_read: float = -float("inf")

    @property
    def most_ahead(self) -> int:
        """Steps that may be unread while another is prepared; under a budget of minutes each is waited for."""
        return 1 if runs_ahead(self.world.device) and not self.plan.timed else 0

    @property
    def reached(self) -> Progress:
        """The progress with the steps counted that were handed over."""
        return replace(self.progress, step=self.progress.step + len(self._launched))

    def take(self, requests: Requests) -> Requests:
        """Take one step; return what any process asked for, after everything was read if that is anything."""
        began, reached = time.monotonic(), self.reached
        seed_step(self.recipe.seed, reached.step, self.world.rank)
        launched = take_step(
            self.model,
            self.optimiser,
            self.upcoming.take(),
            self.recipe,
            rate=self.plan.rate(reached),
            world=self.world,
            requests=requests,
        )
        if self.average is not None and self.most_ahead:
            self.average.follow(launched.finite, self.progress.taken)
        self._launched.append((launched, began))
        self.upcoming.prepare()
        asked = self._read(leave=self.most_ahead)
        if asked.save or asked.stop:  # A checkpoint holds the weights of the step it names.
            asked = asked.with_those_of(self.settle())
        return asked

    def settle(self) -> Requests:
        """Wait for all steps that were handed over; return what any process asked for in them."""
        return self._read(leave=0)

    def _read(self, *, leave: int) -> Requests:
        asked = Requests()
        while len(self._launched) > leave:
            launched, began = self._launched.popleft()
            result = launched.result()
            asked = asked.with_those_of(result.requests)
            progress = advance(self.progress, result, self.plan, self.recipe.optimiser)
            if self.average is not None and result.finite and not self.most_ahead:
                self.average.update(progress.taken)
            now = time.monotonic()
            seconds, self._last_read = now - max(began, self._last_read), now
            if self.plan.timed:
                seconds = self.world.of_leader(seconds)
                progress = replace(progress, seconds=progress.seconds + seconds)
            facts = {**result.facts(), "loss_mean": progress.mean_loss, "seconds": seconds}
            self.journal.write("step", step=progress.step, **facts)
            self.progress = progress
        return asked
