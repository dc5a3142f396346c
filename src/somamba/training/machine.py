"""How a training is run: the part of a recipe that belongs to one machine."""

from dataclasses import dataclass
from typing import Literal

from somamba.options import check_between, check_positive
from somamba.runtime.device import MOST_THREADS

LARGEST_BATCH = 1 << 16
"""Most slices of a step; more never fit."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """How a training is run, not what it computes. If it changes on resume, results do not repeat bit by bit."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """``auto`` takes a GPU if there is one."""
    threads: int | None = None
    """Threads of each process on the CPU; by default torch's choice."""
    workers: int = 0
    """Processes that read slices ahead; with prepared slices none are needed on a CPU."""
    micro_batch: int | None = None
    """Most slices in one forward pass of one process; a larger share of the batch is accumulated."""
    checkpoint_minutes: float = 10.0
    """A checkpoint at least this often, also in the middle of an epoch."""
    max_minutes: float | None = None
    """Stop after so many minutes of this session, with a checkpoint to resume from."""
    compile_units: bool = False
    """Run the units of a network through ``torch.compile``; the first step then takes minutes. Meant for CUDA."""

    def __post_init__(self) -> None:
        check_positive(self, "machine.", "threads", "micro_batch", "max_minutes", "checkpoint_minutes")
        check_between(self, "machine.", threads=(1, MOST_THREADS), workers=(0, 1024), micro_batch=(1, LARGEST_BATCH))
