"""Where to compute."""

import os

import torch

from somamba.errors import ConfigError


def find_device(name: str) -> torch.device:
    """The device of this process.

    Args:
        name: ``cpu``, ``cuda``, or ``auto`` for a GPU where there is one.
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
