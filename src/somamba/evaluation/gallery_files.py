"""A gallery: slices of a few cases as several methods reconstructed them, in files for figures and pages. No torch.

    FOLDER/CASE/measurement.npz   target, zero_filled, mask, slices
    FOLDER/CASE/measurement.json  what was measured, as `MeasurementFacts`
    FOLDER/CASE/METHOD.npz        reconstruction
    FOLDER/CASE/METHOD.json       whose it is and how good, as `MethodFacts`

Every file is replaced whole, arrays before what describes them. Names of files are made safe; the true ones are in the
JSON files. Nothing is pickled.
"""

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from somamba.durable import replace_file
from somamba.errors import InputError

MEASUREMENT = "measurement"
LONGEST_NAME = 60

Facts = TypeVar("Facts", "MeasurementFacts", "MethodFacts")


class Measurement(NamedTuple):
    """What every method was given, and what it should have found."""

    target: NDArray[np.float32]
    """(slices, y, x): magnitude of the fully sampled image."""
    zero_filled: NDArray[np.complex64]
    """(slices, y, x): A^H y; its root sum of squares where coils are not combined by maps."""
    mask: NDArray[np.bool_]
    """(slices, y, x), or (1, y, x) where all slices share it."""
    slices: NDArray[np.int32]
    """(slices,): their numbers in the case."""

    def digest(self) -> str:
        """First digits of a SHA-256: the same for the same slices measured through the same masks."""
        parts = (self.slices, self.mask, self.target)
        shapes = repr([part.shape for part in parts]).encode()
        return hashlib.sha256(b"".join([shapes, *(part.tobytes() for part in parts)])).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class MeasurementFacts:
    """What ``measurement.json`` says."""

    dataset: str
    split: str
    case: str
    protocol: str
    mask: str
    """Kind of the sampling mask."""
    mask_digest: str
    acceleration: float
    """Nominal acceleration factor."""
    realised_acceleration: float
    coils: int
    """Images that were merged by root sum of squares; 1 where the kept images are complex."""
    digest: str
    """Of the slices, masks and targets, see `Measurement.digest`."""
    data_fingerprint: str
    """First digits of the SHA-256 of the prepared, fully sampled slices of the case."""
    zero_filled_psnr: tuple[float, ...]
    zero_filled_ssim: tuple[float, ...]
    version: str
    """Of somamba, when this was written."""
    commit: str

    def __post_init__(self) -> None:
        _check_finite(self)


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """What ``METHOD.json`` says."""

    label: str
    """How figures call it; unique within a case."""
    model: str
    """Name in the registry of networks."""
    weights: str
    """First digits of the SHA-256 of the weights, empty where there are none."""
    epochs: float
    steps: int
    seed: int
    parameters: int
    psnr: tuple[float, ...]
    """One for each slice, as are the others."""
    ssim: tuple[float, ...]
    nmse: tuple[float, ...]
    recipe: Mapping[str, Any]
    """Of the training, in plain values; empty where there was none."""
    code: Mapping[str, str]
    """Versions and commit that trained it; empty where there was no training."""
    command: str
    """What to type to reconstruct it again."""
    measurement: str
    """Digest of the measurement it was given."""

    def __post_init__(self) -> None:
        _check_finite(self)


@dataclass(frozen=True)
class KeptMethod:
    """One method on one case; its images are read when they are asked for."""

    facts: MethodFacts
    path: Path

    def reconstruction(self) -> NDArray[np.complex64]:
        """(slices, y, x); not cut to any range."""
        found = _read_arrays(self.path, {"reconstruction": (np.complex64, 3)})["reconstruction"]
        if len(found) != len(self.facts.psnr):
            raise InputError(
                f"{self.path} has {len(found)} slices, its JSON file {len(self.facts.psnr)}; keep it anew."
            )
        return found


@dataclass(frozen=True)
class KeptCase:
    """One case and the methods that reconstructed it, in the order of their labels."""

    facts: MeasurementFacts
    folder: Path
    methods: tuple[KeptMethod, ...]

    def measurement(self) -> Measurement:
        """Target, zero-filled images, masks and numbers of the slices."""
        return read_measurement(self.folder)


def is_gallery(folder: Path) -> bool:
    """Tell whether a folder holds at least one kept case."""
    return folder.is_dir() and any(folder.glob(f"*/{MEASUREMENT}.json"))


def read_gallery(folder: Path) -> tuple[KeptCase, ...]:
    """What a gallery holds, in the order of case names; images are left in their files.

    Raises:
        InputError: no gallery is there, or one of its files is damaged or belongs to another measurement.
    """
    if not is_gallery(folder):
        raise InputError(f"{folder} is not a gallery: no folder in it holds {MEASUREMENT}.json (see evaluate --keep).")
    cases = [_read_case(path.parent) for path in folder.glob(f"*/{MEASUREMENT}.json")]
    return tuple(sorted(cases, key=lambda case: case.facts.case))


def read_measurement(folder: Path) -> Measurement:
    """The arrays of ``measurement.npz`` in the folder of a case."""
    path = folder / f"{MEASUREMENT}.npz"
    kinds = {
        "target": (np.float32, 3),
        "zero_filled": (np.complex64, 3),
        "mask": (np.bool_, 3),
        "slices": (np.int32, 1),
    }
    found = Measurement(**_read_arrays(path, kinds))
    shape = found.target.shape
    masks = {(1, *shape[1:]), shape}
    if found.zero_filled.shape != shape or found.mask.shape not in masks or found.slices.shape != shape[:1]:
        raise InputError(f"{path}: target, zero_filled, mask and slices do not fit each other; keep the case anew.")
    return found


def write_measurement(folder: Path, measurement: Measurement, facts: MeasurementFacts) -> None:
    """Write both files of a measurement."""
    _write(folder, MEASUREMENT, measurement._asdict(), facts)


def write_method(folder: Path, reconstruction: NDArray[np.complex64], facts: MethodFacts) -> None:
    """Write both files of a method."""
    _write(folder, safe_name(facts.label), {"reconstruction": reconstruction}, facts)


def safe_name(name: str) -> str:
    """A name that every file system takes; where it had to be changed, a digest of the true one keeps it unique."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:LONGEST_NAME]
    if plain == name and name not in ("", MEASUREMENT):
        return name
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def read_facts(path: Path, kind: type[Facts]) -> Facts:
    """Read one of the JSON files."""
    try:
        found = json.loads(path.read_bytes())
        return kind(**{field.name: _value(found.pop(field.name), field.type) for field in fields(kind)}, **found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged, or no file of a gallery: {error!r}. Keep the case anew.") from None


def _read_case(folder: Path) -> KeptCase:
    facts = read_facts(folder / f"{MEASUREMENT}.json", MeasurementFacts)
    methods = []
    for path in sorted(folder.glob("[!.]*.json")):
        if path.stem != MEASUREMENT:
            method = KeptMethod(read_facts(path, MethodFacts), path.with_suffix(".npz"))
            if method.facts.measurement != facts.digest:
                raise InputError(f"{path} was reconstructed from another measurement than its neighbours; remove it.")
            methods.append(method)
    return KeptCase(facts, folder, tuple(sorted(methods, key=lambda method: method.facts.label)))


def _value(value: Any, kind: object) -> Any:
    """JSON has no tuples and no types to rely on: lists become tuples, anything of another kind is refused."""
    if kind == tuple[float, ...]:
        return tuple(float(item) for item in value)
    if kind is float and isinstance(value, int | float):
        return float(value)
    wanted = kind if isinstance(kind, type) else dict
    if not isinstance(value, wanted):
        raise TypeError(f"{value!r} is no {wanted.__name__}")
    return value


def _read_arrays(path: Path, kinds: Mapping[str, tuple[type, int]]) -> dict[str, NDArray[Any]]:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            found = {name: file[name] for name in kinds}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is damaged, or no file of a gallery: {error}. Keep the case anew.") from None
    for name, (dtype, axes) in kinds.items():
        if found[name].dtype != dtype or found[name].ndim != axes:
            raise InputError(f"{path}: {name} must be {np.dtype(dtype)} with {axes} axes, it is {found[name].dtype}.")
    return found


def _write(folder: Path, name: str, arrays: Mapping[str, NDArray[Any]], facts: Any) -> None:
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    text = json.dumps(asdict(facts), indent=1, allow_nan=False, ensure_ascii=False)
    replace_file(folder / f"{name}.npz", content.getvalue())
    replace_file(folder / f"{name}.json", text.encode())


def _check_finite(facts: Any) -> None:
    for field in fields(facts):
        value = getattr(facts, field.name)
        numbers = value if field.type == tuple[float, ...] else [value] if field.type is float else []
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"{field.name} has a value that is not finite; a gallery cannot keep it.")
