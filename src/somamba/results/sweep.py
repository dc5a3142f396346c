"""The summary of a sweep, as lines of a CSV file: one for each finished run. No torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from somamba.errors import InputError
from somamba.results.averages import repeated
from somamba.results.comparable import Conditions
from somamba.results.record import check_values
from somamba.results.setting import Setting, Subject


@dataclass(frozen=True, kw_only=True)
class SweepRecord:
    """One finished run: what was trained, how far it came, and the means over the validation cases."""

    COLUMNS: ClassVar[str] = (
        "run model=method seed minutes seconds steps batch_size slices_per_second epochs parameters dataset split "
        "protocol mask acceleration realised_acceleration cases psnr ssim nmse weights command"
    )

    subject: Subject
    """The best weights of the run."""
    setting: Setting
    run: str
    """Name of the run."""
    minutes: float
    """Budget of training time in minutes; 0 if epochs decided."""
    seconds: float
    """Seconds that the steps took; validations and checkpoints are not counted."""
    steps: int
    """Number of steps that were taken."""
    batch_size: int
    """Number of slices in one step."""
    slices_per_second: float
    realised_acceleration: float
    cases: int
    psnr: float
    ssim: float
    nmse: float
    command: str
    """The command that trains it again."""

    def __post_init__(self) -> None:
        check_values(self, f"Run {self.run!r}")
        if min(self.minutes, self.seconds, self.steps) < 0:
            raise InputError(f"Run {self.run!r}: minutes, seconds and steps cannot be negative.")

    @staticmethod
    def check_file(records: "Sequence[SweepRecord]") -> None:
        """Refuse the records of a file in which a run comes twice."""
        if double := repeated([record.run for record in records]):
            raise InputError(f"run {double[0]!r} has more than one row; sweep again to write it anew.")

    @property
    def budget(self) -> str:
        """The budget in words; empty if epochs decided."""
        return f"{self.minutes:g} min" if self.minutes else ""

    @property
    def conditions(self) -> Conditions:
        """What the run was measured on; a summary does not know the masks of single cases."""
        return Conditions(setting=self.setting, more=(("cases", self.cases),))
