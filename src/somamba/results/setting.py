"""What every record of a result says: which model was measured, and on what. No torch."""

from dataclasses import dataclass
from typing import TypeVar

from somamba.errors import InputError
from somamba.results.record import check_values


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The model that was measured."""

    method: str
    """Name of the model."""
    epochs: float
    """Passes over the training data that the weights have seen."""
    seed: int
    """Seed of the training."""
    parameters: int
    """Number of trainable parameters."""
    weights: str
    """First digits of the SHA-256 of the weights; empty for a method without weights."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The data that the model was measured on."""

    dataset: str
    """Name of the dataset."""
    split: str
    """``train``, ``val`` or ``test``."""
    protocol: str
    """How measurements were made from the files: ``magnitude`` or ``raw``."""
    mask: str
    """Kind of the sampling mask."""
    acceleration: float
    """Nominal acceleration factor, as the tables name it."""


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """How the slices of a case were sampled."""

    mask_digest: str
    """First digits of the SHA-256 of the mask; two masks with the same samples have the same digest."""
    realised_acceleration: float
    """Number of all samples divided by the number of measured samples."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What the records of one evaluation have in common."""

    subject: Subject
    setting: Setting
    cases: int
    """Number of cases that were evaluated."""

    @property
    def title(self) -> str:
        """The evaluation in a few words, for messages."""
        where = self.setting
        return f"{self.subject.method} on {where.dataset} {where.split}, x{where.acceleration:g}"


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What all records of an evaluation say alike."""

    subject: Subject
    setting: Setting
    cases: int
    """Number of cases of this evaluation; the file has records of each."""
    split_cases: int
    """Number of cases of the split; larger than ``cases`` if the evaluation was limited."""
    command: str
    """The command that measures it again."""


@dataclass(frozen=True, kw_only=True)
class CaseRecord(Provenance):
    """What was measured on one case; the records of scores and of leakage extend it."""

    sampled: Sampled
    case: str
    """Name of the case."""
    slices: int
    """Number of slices in the mean."""

    def __post_init__(self) -> None:
        check_values(self, f"Case {self.case!r} of {self.setting.dataset!r}")
        if not 1 <= self.cases <= self.split_cases:
            raise InputError(f"Case {self.case!r}: cases={self.cases} must lie between 1 and {self.split_cases=}.")
        if self.slices < 1:
            raise InputError(f"Case {self.case!r} of {self.setting.dataset!r} has no slice with a value; leave it out.")

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation that this record belongs to."""
        return Evaluation(subject=self.subject, setting=self.setting, cases=self.cases)

    @property
    def partial(self) -> bool:
        """Whether only a part of the split was evaluated."""
        return self.cases < self.split_cases


CaseRow = TypeVar("CaseRow", bound=CaseRecord)
