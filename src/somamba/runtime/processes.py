"""Several processes that compute as one: ``torchrun`` starts them, `joined` connects them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, distributed, nn
from typing_extensions import override

from somamba.errors import ConfigError
from somamba.runtime.device import find_device


@dataclass(frozen=True)
class Processes:
    """The processes that share a piece of work, seen from one of them; by default it is the only one."""

    rank: int = 0
    """Number of this process, from 0."""
    size: int = 1
    """The number of processes."""

    def total(self, values: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        return values


ALONE = Processes()


@dataclass(frozen=True)
class World(Processes):
    """Processes that exchange tensors through ``torch.distributed``."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes files and prints."""
        return self.rank == 0

    @override
    def total(self, values: Tensor) -> Tensor:
        if self.size == 1:
            return values
        moved = values.to(self.device)
        distributed.all_reduce(moved)
        return moved.to(values.device)

    def total_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replace every gradient by its sum over all processes.

        One message a step, after the last micro-batch: accumulation costs no traffic, and a process may hold any share
        of the batch because each slice carries its own weight.
        """
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if self.size == 1 or not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        for gradient, part in zip(gradients, flat.split_with_sizes([g.numel() for g in gradients]), strict=True):
            gradient.copy_(part.view_as(gradient))

    def share_buffers(self, model: nn.Module) -> None:
        """Give every process the running statistics of the first, so that all of them hold the same model."""
        if self.size > 1:
            for buffer in model.buffers():
                distributed.broadcast(buffer, src=0)

    def of_leader(self, value: float) -> float:
        """The leader's value in every process: clocks differ, and all processes must use one of them."""
        return float(self.total(torch.tensor(value if self.leads else 0.0, dtype=torch.float64)))

    def wait(self) -> None:
        """Return when every process has come here."""
        self.total(torch.zeros(1))


@contextmanager
def joined(device: str = "auto") -> Iterator[World]:
    """Join the processes ``torchrun`` started (NCCL on GPUs, gloo on CPUs); alone, stay alone.

    Args:
        device: ``cpu``, ``cuda``, or ``auto`` for a GPU if there is one.
    """
    place = find_device(device)
    if announced_size() == 1:
        yield World(device=place)
        return
    if place.type == "cuda":
        distributed.init_process_group("nccl", device_id=place)  # `find_device` has made it the current one.
    else:
        distributed.init_process_group("gloo")
    try:
        yield World(distributed.get_rank(), distributed.get_world_size(), place)
        # The first process holds what the others leave by: if it ended before them, they could be aborted.
        distributed.barrier()
    finally:
        distributed.destroy_process_group()


def announced_rank() -> int:
    """The rank ``torchrun`` gave this process, known before the processes have joined; 0 alone."""
    return _announced("RANK", 0)


def announced_size() -> int:
    """How many processes ``torchrun`` started; 1 alone."""
    return _announced("WORLD_SIZE", 1)


def _announced(variable: str, least: int) -> int:
    """A number that ``torchrun`` puts into the environment; without it, the least one."""
    text = os.environ.get(variable, str(least))
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(
            f"The environment variable {variable} is {text!r}, where torchrun puts a whole number from {least} on. "
            "Unset it, or start the processes by torchrun or --processes."
        )
    return int(text)
