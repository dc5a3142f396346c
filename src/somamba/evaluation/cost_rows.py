"""What a network costs as a row of a CSV file. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from somamba.errors import InputError
from somamba.evaluation.rows import check_values, read_records, write_records


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """One network on one image; MACs are multiply-accumulates of one forward pass."""

    method: str
    """Name of the model."""
    height: int
    width: int
    parameters: int
    """Trainable ones."""
    module_macs: int
    """As the paper counts: layers only."""
    all_macs: int
    """Every matrix product and convolution that runs."""
    scan_macs: int
    """Of the recurrence, by formula."""
    fft_macs: int
    """Of Fourier transforms, by formula."""
    seconds: float
    """Of one inference on this machine, best of several; 0 where it was not measured."""
    megabytes: float
    """That one inference adds to a process at its peak; 0 where it was not measured."""
    threads: int
    """On which it was measured."""
    processor: str
    """Where it was measured; empty where it was not."""
    commit: str
    """Of the code that was measured."""
    command: str
    """What to type to count and measure it again."""

    def __post_init__(self) -> None:
        check_values(self, f"Cost of {self.method}")
        if self.seconds < 0 or self.megabytes < 0:
            raise InputError(f"Cost of {self.method}: seconds and megabytes cannot be negative.")

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the image."""
        return self.height, self.width


def write_costs(path: Path, rows: Sequence[CostRow]) -> None:
    """Write a CSV file in one piece."""
    write_records(path, rows)


def read_costs(path: Path) -> list[CostRow]:
    """Read a CSV file written by `write_costs`."""
    return read_records(path, CostRow)
