"""The scans that the weights of a checkpoint were adapted to, as its config.yaml records them.

``adaptation`` is the record of the last adaptation (`somamba.inference.adaptation`), and ``earlier`` in it lists those
before it, the oldest first. ``parent`` is the digest of the weights that an adaptation began with, and ``samples`` is
the digest of its scan. The records of older checkpoints have none of the three.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from somamba.raw.raw_scan import RawScan

RECORD = "adaptation"
"""The entry of config.yaml, and of the provenance of a result."""
UNKNOWN = "These weights were adapted to a scan, and the checkpoint does not say to which."
ANOTHER = "These weights were adapted to another scan by its own samples."
BEFORE = "These weights were adapted to another scan before they were adapted to this one."
ADVICE = "They may be worse here than the weights they came from{parent}, which --adapt can adapt to this scan."


def adaptations(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The records of all adaptations of the weights, the oldest first; a record in the list has no ``earlier``."""
    last = dict(config.get(RECORD) or {})
    earlier = last.pop("earlier", None) or ()
    return [*map(dict, earlier), last] if last else []


def samples_digest(scan: RawScan, slices: Sequence[int]) -> str:
    """The SHA-256 of the samples of some slices, as they were acquired: the same for the same scan."""
    digest = hashlib.sha256()
    for index in slices:
        digest.update(scan.kspace(index).numpy().astype("<c8").tobytes())
    return digest.hexdigest()


def adaptation_notes(config: Mapping[str, Any], scan: RawScan) -> list[str]:
    """What a person should know about a result of these weights, if they were adapted to another scan than this."""
    records = adaptations(config)
    own = [_is_of(record, scan) for record in records]
    if all(own):
        return []
    if own[-1]:
        return [BEFORE]
    known = records[-1].get("samples") is not None
    parent = records[0].get("parent")
    return [f"{ANOTHER if known else UNKNOWN} {ADVICE.format(parent=f' ({parent})' if parent else '')}"]


def _is_of(record: Mapping[str, Any], scan: RawScan) -> bool:
    """Whether the weights were adapted to this very scan; a record that does not name its scan says no."""
    slices = record.get("slices_used") or []
    if record.get("samples") is None or not slices or max(slices) >= scan.slices:
        return False
    return samples_digest(scan, slices) == record["samples"]


def wrong_adaptation(last: object) -> list[str]:
    """The reasons why an entry of config.yaml is no record of an adaptation, as far as records are read here."""
    if last is None:
        return []
    earlier = last.get("earlier", []) if isinstance(last, Mapping) else []
    records = [last, *(earlier if isinstance(earlier, list) else [None])]
    if not all(isinstance(record, Mapping) for record in records):
        return [f"{RECORD} must be a table, and its entry earlier a list of tables"]
    wrong = []
    for record in records:
        slices = record.get("slices_used")
        if slices is not None and not (
            isinstance(slices, list) and all(type(index) is int and index >= 0 for index in slices)
        ):
            wrong.append(f"{RECORD}.slices_used must be a list of numbers of slices")
        wrong += [
            f"{RECORD}.{name} must be a text"
            for name in ("parent", "samples")
            if not isinstance(record.get(name), str | None)
        ]
    return wrong
