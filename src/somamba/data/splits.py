"""Train, validation and test, by case. The official parts decide; validation is carved from training, not from test."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from somamba.data.case import Entry, Role
from somamba.errors import DataError

Validation = Literal["carved", "none"]
"""Whether validation cases are carved from the official training part, or all of it is trained on as in the paper."""

ACDC_VALIDATION = frozenset(
    f"patient{number:03d}"
    for number in (
        *(1, 4, 9, 14),  # DCM
        *(24, 28, 32, 36),  # HCM
        *(47, 48, 50, 55),  # MINF
        *(64, 66, 77, 79),  # NOR
        *(81, 84, 93, 96),  # RV
    )
)
"""The validation patients: of each diagnostic group the four with the smallest SHA-256 of ``acdc/patientNNN``.

Written out, so that a copy with some patients missing keeps the same split.
"""


def carve(subjects: Collection[str], fraction: float, dataset: str) -> frozenset[str]:
    """The subjects that become validation: the share of them with the smallest SHA-256 of ``dataset/subject``.

    Args:
        subjects: Their names.
        fraction: The share that becomes validation.
        dataset: The name of the dataset.
    """
    unique = sorted(set(subjects), key=lambda subject: hashlib.sha256(f"{dataset}/{subject}".encode()).hexdigest())
    count = min(len(unique) - 1, max(1, round(fraction * len(unique))))
    return frozenset(unique[: max(0, count)])


def divide(
    entries: Sequence[Entry], validation: float | frozenset[str] | None, dataset: str
) -> Mapping[Role, tuple[Entry, ...]]:
    """Our splits from the official ones.

    Args:
        entries: All cases found.
        validation: The subjects of validation, or the share of training subjects to carve; None if the dataset has
            an official validation part that is not used for testing.
        dataset: Name in the catalogue, part of the rule.
    """
    chosen: frozenset[str] = frozenset()
    if isinstance(validation, frozenset):
        chosen = validation
    elif validation is not None:
        chosen = carve([entry.subject for entry in entries if entry.role == "train"], validation, dataset)
    parts: dict[Role, list[Entry]] = {"train": [], "val": [], "test": []}
    for entry in entries:
        carved = entry.role == "train" and entry.subject in chosen
        parts["val" if carved else entry.role].append(entry)
    _check_disjoint(parts)
    return {role: tuple(found) for role, found in parts.items()}


def _check_disjoint(parts: Mapping[Role, Sequence[Entry]]) -> None:
    """A subject in two splits would be tested on what was learnt."""
    home: dict[str, Role] = {}
    for role, entries in parts.items():
        for entry in entries:
            if home.setdefault(entry.subject, role) != role:
                raise DataError(
                    f"Subject {entry.subject!r} is in {home[entry.subject]!r} and in {role!r} ({entry.files[0]}). "
                    "Remove it from one of the two folders."
                )
