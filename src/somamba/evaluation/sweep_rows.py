"""What a sweep came to as rows of a CSV file: one for each finished run. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from somamba.errors import InputError
from somamba.evaluation.rows import check_values, read_records, write_records


@dataclass(frozen=True, kw_only=True)
class SweepRow:
    """One finished run: what was trained, how far it came, and the means over the validation cases."""

    run: str
    model: str
    seed: int
    minutes: float
    """Budget of training time; 0 where epochs decided."""
    seconds: float
    """That the steps took, validations and checkpoints not counted."""
    steps: int
    """Steps reached."""
    batch_size: int
    """Slices of one step."""
    slices_per_second: float
    epochs: float
    """Passes over the training data that the best weights have seen."""
    parameters: int
    dataset: str
    split: str
    """What it was measured on."""
    protocol: str
    mask: str
    acceleration: float
    realised_acceleration: float
    cases: int
    psnr: float
    ssim: float
    nmse: float
    weights: str
    """First digits of the SHA-256 of the best weights."""
    command: str
    """What to type to train it again."""

    def __post_init__(self) -> None:
        check_values(self, f"Run {self.run!r}")
        if min(self.minutes, self.seconds, self.steps) < 0:
            raise InputError(f"Run {self.run!r}: minutes, seconds and steps cannot be negative.")

    @property
    def budget(self) -> str:
        """In words; empty where epochs decided."""
        return f"{self.minutes:g} min" if self.minutes else ""


def write_sweep(path: Path, rows: Sequence[SweepRow]) -> None:
    """Write a CSV file in one piece."""
    write_records(path, rows)


def read_sweep(path: Path) -> list[SweepRow]:
    """Read a CSV file written by `write_sweep`; a run that comes twice is refused."""
    rows = read_records(path, SweepRow)
    names = [row.run for row in rows]
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{path}: run {double[0]!r} has more than one row; sweep again to write it anew.")
    return rows
