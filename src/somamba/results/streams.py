"""The two streams that the router of every unit made of one slice, in a small file for figures. No torch.

One ``.npz`` file: pictures and spectra as arrays, and what was measured as one text of JSON.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.errors import InputError
from somamba.results.arrays import TEXT, Wanted, parse_facts, read_arrays, write_arrays
from somamba.results.record import check_values, flat
from somamba.results.setting import Sampled, Setting, Subject

WRITER = "somamba streams"
ADDED_LATER = {"seed": 0, "parameters": 0, "mask_digest": ""}
"""Columns that the first files did not have; no figure shows them."""


@dataclass(frozen=True, kw_only=True)
class StreamFacts:
    """What the file says besides numbers."""

    subject: Subject
    setting: Setting
    sampled: Sampled
    case: str
    slice: int
    """Number of the slice in the case."""
    command: str
    """The command that records it again."""

    def __post_init__(self) -> None:
        check_values(self, f"Streams of {self.case!r}")


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedStreams:
    """The two streams of every unit; an ablation without evidence has a carrier only."""

    facts: StreamFacts
    target: NDArray[np.float32]
    """(y, x): magnitude of the fully sampled slice."""
    reconstruction: NDArray[np.float32]
    """(y, x): magnitude of the network's result."""
    carrier: NDArray[np.float32]
    """(units, rows, columns): root mean square over the channels of L, each without its mean over the slice."""
    evidence: NDArray[np.float32] | None
    """(units, rows, columns): the same for G."""
    radius: NDArray[np.float32]
    """(rings,): rho in the middle of each ring of frequencies; 1 is the corner of the transform grid."""
    carrier_power: NDArray[np.float32]
    """(units, rings): power of L at a frequency of the ring, mean over the ring and the channels."""
    evidence_power: NDArray[np.float32] | None
    """(units, rings): the same for G."""

    @property
    def units(self) -> int:
        """Number of units of the network."""
        return len(self.carrier)


ARRAYS = {
    "facts": TEXT,
    "target": Wanted(np.float32, 2),
    "reconstruction": Wanted(np.float32, 2),
    "carrier": Wanted(np.float32, 3),
    "evidence": Wanted(np.float32, 3, optional=True),
    "radius": Wanted(np.float32, 1),
    "carrier_power": Wanted(np.float32, 2),
    "evidence_power": Wanted(np.float32, 2, optional=True),
}


def write_streams(path: Path, recorded: RecordedStreams) -> None:
    """Write the file in one piece."""
    arrays = {field.name: getattr(recorded, field.name) for field in fields(recorded)}
    arrays["facts"] = np.array(json.dumps(flat(recorded.facts), allow_nan=False))
    write_arrays(path, {name: array for name, array in arrays.items() if array is not None})


def read_streams(path: Path) -> RecordedStreams:
    """Read a file that `write_streams` wrote.

    Raises:
        InputError: the file is damaged, or holds something else.
    """
    arrays = read_arrays(path, ARRAYS, writer=WRITER)
    try:
        facts = parse_facts(str(arrays.pop("facts")), StreamFacts, ADDED_LATER)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path} was not written by {WRITER}, or is damaged: {error!r}. Write it anew.") from None
    _check(path, arrays)
    optional: dict[str, Any] = {"evidence": None, "evidence_power": None}
    return RecordedStreams(facts=facts, **(optional | arrays))


def _check(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    pictures, spectra = arrays["carrier"].shape, (len(arrays["carrier"]), len(arrays["radius"]))
    wanted = {"evidence": pictures, "carrier_power": spectra, "evidence_power": spectra}
    wanted |= {"reconstruction": arrays["target"].shape}
    for name, array in arrays.items():
        if array.shape != wanted.get(name, array.shape) or not array.size or not np.isfinite(array).all():
            raise InputError(f"{path}: {name} must be {wanted.get(name, 'all')} finite numbers; record it anew.")
    if ("evidence" in arrays) != ("evidence_power" in arrays):
        raise InputError(f"{path}: the streams are incomplete; record them anew.")
