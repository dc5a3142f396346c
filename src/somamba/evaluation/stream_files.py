"""What the router of every unit made of one slice, in a small file for figures. No torch.

One ``.npz`` without pickle: pictures and spectra as arrays, and what was measured as one text of JSON.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.durable import replace_file
from somamba.errors import InputError


@dataclass(frozen=True, kw_only=True)
class StreamFacts:
    """What the file says besides numbers."""

    method: str
    """Name of the model."""
    weights: str
    """First digits of the SHA-256 of the weights."""
    epochs: float
    dataset: str
    split: str
    case: str
    slice: int
    """Its number in the case."""
    protocol: str
    mask: str
    """Kind of the sampling mask."""
    acceleration: float
    realised_acceleration: float
    command: str
    """What to type to record it again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedStreams:
    """The two streams of every unit; those of an ablation without evidence have a carrier only."""

    facts: StreamFacts
    target: NDArray[np.float32]
    """(y, x): magnitude of the fully sampled slice."""
    reconstruction: NDArray[np.float32]
    """(y, x): magnitude of the network's result."""
    carrier: NDArray[np.float32]
    """(units, rows, columns): root mean square over the channels of L, each without its mean over the slice."""
    evidence: NDArray[np.float32] | None
    """The same of G."""
    radius: NDArray[np.float32]
    """(rings,): rho in the middle of each ring of frequencies; 1 is the corner of the transform grid."""
    carrier_power: NDArray[np.float32]
    """(units, rings): power of L at a frequency of the ring, mean over the ring and the channels."""
    evidence_power: NDArray[np.float32] | None
    """The same of G."""

    @property
    def units(self) -> int:
        """How many units the network has."""
        return len(self.carrier)


def write_streams(path: Path, recorded: RecordedStreams) -> None:
    """Write the file in one piece."""
    arrays = {field.name: getattr(recorded, field.name) for field in fields(recorded)}
    arrays["facts"] = np.array(json.dumps(asdict(recorded.facts), allow_nan=False))
    content = io.BytesIO()
    np.savez_compressed(
        content, allow_pickle=False, **{name: array for name, array in arrays.items() if array is not None}
    )
    replace_file(path, content.getvalue())


def read_streams(path: Path) -> RecordedStreams:
    """Read a file written by `write_streams`.

    Raises:
        InputError: the file is damaged, or holds something else.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = StreamFacts(**json.loads(str(arrays.pop("facts"))))
        _check(path, arrays)
        return RecordedStreams(facts=facts, **{"evidence": None, "evidence_power": None, **arrays})
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} was not written by somamba streams, or is damaged: {error}") from None


def _check(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    pictures, spectra = arrays["carrier"].shape, (len(arrays["carrier"]), len(arrays["radius"]))
    wanted = {
        "carrier": pictures,
        "evidence": pictures,
        "radius": spectra[1:],
        "carrier_power": spectra,
        "evidence_power": spectra,
        "target": arrays["target"].shape,
        "reconstruction": arrays["target"].shape,
    }
    for name, array in arrays.items():
        if array.dtype != np.float32 or array.shape != wanted[name] or not np.isfinite(array).all():
            raise InputError(f"{path}: {name} must be {wanted[name]} finite numbers in float32; record it anew.")
    if len(pictures) != 3 or len(wanted["target"]) != 2 or ("evidence" in arrays) != ("evidence_power" in arrays):
        raise InputError(f"{path}: the streams are incomplete; record them anew.")
