"""The device of a process, and how many CPU threads PyTorch and the compiled kernels use."""

import os

import torch
from torch import Tensor

from somamba.errors import ConfigError

MOST_THREADS = 4096
"""More than any machine has; a larger number is a typing error, and some libraries crash on it."""


def find_device(name: str) -> torch.device:
    """The device of this process.

    Args:
        name: ``cpu``, ``cuda``, or ``auto`` for a GPU if there is one.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    if name != "cuda":
        raise ConfigError(f"device={name!r}; choose auto, cpu or cuda. torchrun gives each process a GPU of its own.")
    if not torch.cuda.is_available():
        raise ConfigError("device='cuda', but torch sees no GPU here. Set device to auto or cpu.")
    number, count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if number >= count:
        raise ConfigError(
            f"Process {number} of this machine wants a GPU of its own, and there are {count}. Start at most {count}."
        )
    place = torch.device("cuda", number)
    torch.cuda.set_device(place)
    return place


def runs_ahead(device: torch.device) -> bool:
    """Tell whether a device works through a queue, so that looking at a number of it waits for all that is queued."""
    return device.type != "cpu"


def use_threads(count: int | None) -> None:
    """Let this process compute with so many threads; None leaves PyTorch's choice.

    Raises:
        ConfigError: the number is not between 1 and `MOST_THREADS`.
    """
    if count is None:
        return
    if not 1 <= count <= MOST_THREADS:
        raise ConfigError(f"threads={count}; choose 1 to {MOST_THREADS}, or leave it out for PyTorch's choice.")
    torch.set_num_threads(count)


def send(tensor: Tensor, device: torch.device | str) -> Tensor:
    """Return a tensor on a device, without waiting for a GPU: the copy reads pinned memory whenever its turn comes."""
    if tensor.device.type == "cpu" and torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


class Arriving:
    """Numbers of a device on their way to the host."""

    def __init__(self, values: Tensor) -> None:
        self._event: torch.cuda.Event | None = None
        if values.device.type == "cuda":
            self._values = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
            self._values.copy_(values, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record(torch.cuda.current_stream(values.device))
        else:
            self._values = values

    def wait(self) -> list[float]:
        """Return the numbers as soon as they have arrived; work that was queued after them is not waited for."""
        if self._event is not None:
            self._event.synchronize()
        return self._values.tolist()
