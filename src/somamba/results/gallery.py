"""A gallery: slices of a few cases as several methods reconstructed them, in files for figures and pages. No torch.

    FOLDER/CASE/measurement.npz   target, zero_filled, mask, slices
    FOLDER/CASE/measurement.json  what was measured, as `MeasurementFacts`
    FOLDER/CASE/METHOD.npz        reconstruction
    FOLDER/CASE/METHOD.json       which method made it and its scores, as `MethodFacts`

Every file is replaced whole, arrays before what describes them. Names of files are made safe; the true ones are in the
JSON files. Nothing is pickled.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from somamba.errors import InputError
from somamba.results.arrays import Wanted, read_arrays, read_facts, write_arrays, write_facts
from somamba.results.record import check_values, flat
from somamba.results.setting import Sampled, Setting, Subject

MEASUREMENT = "measurement"
LONGEST_NAME = 60
WRITER = "somamba evaluate --keep"
MEASURED = {
    "target": Wanted(np.float32, 3),
    "zero_filled": Wanted(np.complex64, 3),
    "mask": Wanted(np.bool_, 3),
    "slices": Wanted(np.int32, 1),
}
RECONSTRUCTED = {"reconstruction": Wanted(np.complex64, 3)}


class KeptMeasurement(NamedTuple):
    """The measurement that every method was given, and the images that it should have found."""

    target: NDArray[np.float32]
    """(slices, y, x): magnitude of the fully sampled image."""
    zero_filled: NDArray[np.complex64]
    """(slices, y, x): A^H y; its root sum of squares if coils are not combined by maps."""
    mask: NDArray[np.bool_]
    """(slices, y, x), or (1, y, x) if all slices share it."""
    slices: NDArray[np.int32]
    """(slices,): their numbers in the case."""

    def digest(self) -> str:
        """First digits of a SHA-256: the same for the same slices measured through the same masks."""
        parts = (self.slices, self.mask, self.target)
        shapes = repr([part.shape for part in parts]).encode()
        return hashlib.sha256(b"".join([shapes, *(part.tobytes() for part in parts)])).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class MeasurementFacts:
    """The content of ``measurement.json``."""

    setting: Setting
    sampled: Sampled
    case: str
    coils: int
    """Number of images that were merged by root sum of squares; 1 if the kept images are complex."""
    digest: str
    """Digest of the slices, masks and targets, see `KeptMeasurement.digest`."""
    data_fingerprint: str
    """First digits of the SHA-256 of the prepared, fully sampled slices of the case."""
    zero_filled_psnr: tuple[float, ...]
    zero_filled_ssim: tuple[float, ...]
    version: str
    """Version of somamba that wrote the file."""
    commit: str
    """Git commit of somamba that wrote the file."""

    def __post_init__(self) -> None:
        check_values(self, f"Kept case {self.case!r}")
        if len(self.zero_filled_psnr) != len(self.zero_filled_ssim):
            raise InputError(f"Kept case {self.case!r}: there are more values of one metric than of another.")


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """The content of ``METHOD.json``."""

    COLUMNS: ClassVar[str] = (
        "label model=method weights epochs steps seed parameters psnr ssim nmse recipe code command measurement"
    )

    subject: Subject
    label: str
    """Name of the method in figures; unique within a case."""
    steps: int
    """Number of training steps."""
    psnr: tuple[float, ...]
    """One value for each slice."""
    ssim: tuple[float, ...]
    """One value for each slice."""
    nmse: tuple[float, ...]
    """One value for each slice."""
    recipe: Mapping[str, Any]
    """Recipe of the training in plain values; empty if there was none."""
    code: Mapping[str, str]
    """Versions and commit that trained it; empty if there was no training."""
    command: str
    """The command that reconstructs it again."""
    measurement: str
    """Digest of the measurement that it was given."""

    def __post_init__(self) -> None:
        check_values(self, f"Kept method {self.label!r}")
        if not len(self.psnr) == len(self.ssim) == len(self.nmse):
            raise InputError(f"Kept method {self.label!r}: there are more values of one metric than of another.")


@dataclass(frozen=True)
class KeptMethod:
    """One method on one case; its images are read when they are asked for."""

    facts: MethodFacts
    path: Path

    def reconstruction(self, like: KeptMeasurement | None = None) -> NDArray[np.complex64]:
        """(slices, y, x), not cut to any range; refused if it has another shape than the measurement."""
        found = read_arrays(self.path, RECONSTRUCTED, writer=WRITER)["reconstruction"]
        if like is not None and found.shape != like.target.shape:
            raise InputError(f"{self.path} is {found.shape} and its measurement {like.target.shape}; keep it anew.")
        if len(found) != len(self.facts.psnr) or not np.isfinite(found).all():
            raise InputError(
                f"{self.path} has {len(found)} slices and its JSON file {len(self.facts.psnr)}, or a value is not "
                "finite; keep it anew."
            )
        return found


@dataclass(frozen=True)
class KeptCase:
    """One case and the methods that reconstructed it, in the order of their labels."""

    facts: MeasurementFacts
    folder: Path
    methods: tuple[KeptMethod, ...]

    def measurement(self) -> KeptMeasurement:
        """Target, zero-filled images, masks and numbers of the slices."""
        path = self.folder / f"{MEASUREMENT}.npz"
        found = KeptMeasurement(**read_arrays(path, MEASURED, writer=WRITER))
        shape = found.target.shape
        masks = {(1, *shape[1:]), shape}
        scored = len(self.facts.zero_filled_psnr), len(self.facts.zero_filled_ssim)
        fitting = found.zero_filled.shape == shape and found.mask.shape in masks and found.slices.shape == shape[:1]
        if not fitting or scored != (shape[0], shape[0]) or found.digest() != self.facts.digest:
            raise InputError(
                f"{path}: target, zero_filled, mask and slices do not fit each other or {MEASUREMENT}.json; keep the "
                "case anew."
            )
        return found


def is_gallery(folder: Path) -> bool:
    """Tell whether a folder holds at least one kept case."""
    return folder.is_dir() and any(folder.glob(f"*/{MEASUREMENT}.json"))


def read_gallery(folder: Path) -> tuple[KeptCase, ...]:
    """The cases of a gallery, in the order of their names; images are left in their files.

    Raises:
        InputError: no gallery is there, or one of its files is damaged or belongs to another measurement.
    """
    if not is_gallery(folder):
        raise InputError(f"{folder} is not a gallery: no folder in it holds {MEASUREMENT}.json (see evaluate --keep).")
    cases = [_read_case(path.parent) for path in folder.glob(f"*/{MEASUREMENT}.json")]
    return tuple(sorted(cases, key=lambda case: case.facts.case))


def read_kept(folder: Path, label: str) -> tuple[MeasurementFacts | None, MethodFacts | None]:
    """The facts that the folder of a case has about its measurement and about a method; None for what is not there."""
    measurement, method = folder / f"{MEASUREMENT}.json", folder / f"{safe_name(label)}.json"
    return (
        read_facts(measurement, MeasurementFacts, writer=WRITER) if measurement.exists() else None,
        read_facts(method, MethodFacts, writer=WRITER) if method.exists() else None,
    )


def write_measurement(folder: Path, measurement: KeptMeasurement, facts: MeasurementFacts) -> None:
    """Write both files of a measurement.

    Args:
        folder: Folder of the case.
        measurement: The arrays.
        facts: What was measured.
    """
    write_arrays(folder / f"{MEASUREMENT}.npz", measurement._asdict())
    write_facts(folder / f"{MEASUREMENT}.json", flat(facts))


def write_method(folder: Path, reconstruction: NDArray[np.complex64], facts: MethodFacts) -> None:
    """Write both files of a method.

    Args:
        folder: Folder of the case.
        reconstruction: (slices, y, x), the images.
        facts: Which method made them, and their scores.
    """
    name = safe_name(facts.label)
    write_arrays(folder / f"{name}.npz", {"reconstruction": reconstruction})
    write_facts(folder / f"{name}.json", flat(facts))


def safe_name(name: str) -> str:
    """A name that every file system takes; if it had to be changed, a digest of the true one keeps it unique."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:LONGEST_NAME]
    if plain == name and name not in ("", MEASUREMENT):
        return name
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _read_case(folder: Path) -> KeptCase:
    facts = read_facts(folder / f"{MEASUREMENT}.json", MeasurementFacts, writer=WRITER)
    methods = []
    for path in sorted(folder.glob("[!.]*.json")):
        if path.stem != MEASUREMENT:
            method = KeptMethod(read_facts(path, MethodFacts, writer=WRITER), path.with_suffix(".npz"))
            if method.facts.measurement != facts.digest:
                raise InputError(f"{path} was reconstructed from another measurement than its neighbours; remove it.")
            methods.append(method)
    return KeptCase(facts, folder, tuple(sorted(methods, key=lambda method: method.facts.label)))
