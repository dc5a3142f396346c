"""An exponential moving average of the weights: smoother than the weights of any one step, and usually better.

After step n the average holds ``sum_k d^(n-k) w_k / sum_k d^(n-k)``, k = 1 .. n: the bias of starting at nothing is
divided out as in Adam, so that after few steps it is nearly the plain mean of all weights so far, and never contains
the initial ones. In this form one number per weight is enough, and n is known from the progress of the run.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from somamba.errors import InputError

PREFIX = "average/"
"""Begins the names of averaged weights among the tensors of a training checkpoint."""


class WeightAverage:
    """The moving average of a model's parameters. Buffers, such as running statistics, are not averaged."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Average the parameters of a model; until the first `update` the average is a copy of them.

        Args:
            model: Its parameters are read by `update` and exchanged inside `applied`.
            decay: How much of the average each step keeps; 0.999 averages over about a thousand steps.
        """
        self.decay = decay
        self._model = model
        self._values = {name: value.detach().clone() for name, value in model.named_parameters()}
        self._added: Tensor | None = None

    @torch.no_grad()
    def update(self, steps: int) -> None:
        """Add the present weights.

        Args:
            steps: How many times weights were added, this time included; at least 1.
        """
        share = (1 - self.decay) / (1 - self.decay**steps)
        present = [value.detach() for _, value in self._model.named_parameters()]
        torch._foreach_lerp_(list(self._values.values()), present, share)

    @torch.no_grad()
    def follow(self, finite: Tensor, steps: int) -> None:
        """Do what `update` does if a step was taken, without waiting for the device to tell.

        Args:
            finite: Whether it was taken, on the device.
            steps: How many times weights were added before the first call; later calls count for themselves.
        """
        if self._added is None:
            self._added = torch.full((), float(steps), dtype=torch.float64, device=finite.device)
        self._added += finite
        share = torch.where(finite, (1 - self.decay) / (1 - self.decay**self._added), 0.0)
        for (_, present), value in zip(self._model.named_parameters(), self._values.values(), strict=True):
            value.lerp_(present.detach(), share.to(value.dtype))

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the model has the averaged weights; after it, its own again, to the last bit."""
        own = {name: value.detach().clone() for name, value in self._model.named_parameters()}
        self._set(self._values)
        try:
            yield
        finally:
            self._set(own)

    def tensors(self) -> dict[str, Tensor]:
        """The average under the names that a checkpoint uses."""
        return {f"{PREFIX}{name}": value for name, value in self._values.items()}

    def load(self, tensors: Mapping[str, Tensor], *, source: str) -> None:
        """Take over what `tensors` gave, after names and shapes have been compared."""
        found = {key.removeprefix(PREFIX): value for key, value in tensors.items() if key.startswith(PREFIX)}
        shapes = {name: value.shape for name, value in found.items()}
        if shapes != {name: value.shape for name, value in self._values.items()}:
            raise InputError(f"{source}: the moving average of the weights is missing or does not fit the model.")
        for name, value in self._values.items():
            value.copy_(found[name])

    @torch.no_grad()
    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, parameter in self._model.named_parameters():
            parameter.copy_(values[name])
