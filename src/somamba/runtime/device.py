"""Where a process computes: its device, and how many CPU threads PyTorch and the compiled kernels use."""

import os

import torch

from somamba.errors import ConfigError

MOST_THREADS = 4096
"""More than any machine has; a larger number is a slip of the pen, and some libraries crash on it."""


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
    place = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
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
