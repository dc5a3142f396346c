"""Prepared slices on disk: one ``.npy`` and one JSON manifest per case, so that a source is unpacked once.

The name of a file contains a hash of the preparation and of the source files (path, size, time of change): other
settings or another source give another name. Files appear complete or not at all, so any number of processes may
prepare the same case at once; all of them write the same bytes. The manifest holds the SHA-256 of the slices and of
itself, which every process compares once; a damaged case is prepared again with a warning.
"""

import hashlib
import io
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from somamba.data.case import Entry, LeftOut
from somamba.data.config import DataConfig
from somamba.data.prepare import prepare
from somamba.durable import replace_file
from somamba.errors import DataError, StorageError
from somamba.regular_files import check_regular, open_regular, read_regular

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PreparedCase:
    """A case whose slices are on disk."""

    id: str
    slices: tuple[int, ...]
    """Their numbers in the case."""
    left_out: tuple[tuple[int, str], ...]
    """Slices that could not be used, and why."""
    shape: tuple[int, ...]
    dtype: str
    path: Path

    def __getitem__(self, position: int) -> NDArray[Any]:
        return _mapped(self.path)[position]


def cache_folder(config: DataConfig) -> Path:
    """The folder in which prepared slices are kept."""
    return user_cache() if config.cache is None else Path(config.cache).expanduser()


def user_cache() -> Path:
    """The user's folder for what somamba can make or fetch again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "somamba"


def prepared_case(entry: Entry, config: DataConfig) -> PreparedCase | LeftOut:
    """The prepared slices of a case: from disk if they are there and intact, else made now."""
    folder = cache_folder(config) / config.dataset
    recipe = {**config.preparation(), "sources": fingerprint(entry)}
    key = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:20]
    manifest, array = folder / f"{entry.id}-{key}.json", folder / f"{entry.id}-{key}.npy"
    known = _known(manifest, array)
    if known is not None:
        return known
    case = config.entry.open_case(entry)
    if isinstance(case, LeftOut):
        _write_manifest(manifest, {"left_out": case.reason, "recipe": recipe})
        return case
    ready = prepare(case, config)
    header = io.BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(ready.array))
    values = memoryview(np.ascontiguousarray(ready.array).reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    digest = hashlib.sha256(header.getvalue())
    digest.update(values)
    facts = {
        "slices": ready.slices,
        "empty": ready.left_out,
        "shape": ready.array.shape,
        "dtype": ready.array.dtype.str,
        "array_sha256": digest.hexdigest(),
        "source": case.source,
        "recipe": recipe,
    }
    # The manifest comes last: if there is one, its slices are there too.
    _write(array, header.getvalue(), values)
    _write_manifest(manifest, facts)
    return _case(entry.id, facts, array)


def fingerprint(entry: Entry) -> list[list[str | int]]:
    """Path, size and time of change of every file of a case: cheap to take, and different after every edit."""
    marks: list[list[str | int]] = []
    for path in entry.files:
        try:
            status = path.stat()
        except OSError as error:
            raise DataError(f"{path}: there is no such file, or it may not be read ({error.strerror}).") from error
        name = path.relative_to(entry.root) if path.is_relative_to(entry.root) else path
        marks.append([name.as_posix(), status.st_size, status.st_mtime_ns])
    return marks


def _known(manifest: Path, array: Path) -> PreparedCase | LeftOut | None:
    """What the manifest says, if it and its slices are there and intact."""
    name = manifest.stem.rsplit("-", 1)[0]
    try:
        facts = json.loads(read_regular(manifest))
        if "sha256" not in facts:
            # Written before digests were kept.
            return None
        if facts.pop("sha256") != _digest(facts):
            raise ValueError("the manifest does not have its own digest")
        if "left_out" in facts:
            return LeftOut(name=name, reason=facts["left_out"])
        status = check_regular(array)
        if facts["array_sha256"] != _file_digest(array, status.st_size, status.st_mtime_ns):
            raise ValueError("the slices do not have the digest of the manifest")
        return _case(name, facts, array)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        logger.warning("The prepared slices %s are damaged (%s); they are prepared again.", array, error)
        return None


def _case(name: str, facts: Mapping[str, Any], array: Path) -> PreparedCase:
    return PreparedCase(
        id=name,
        slices=tuple(facts["slices"]),
        left_out=tuple((number, reason) for number, reason in facts["empty"]),
        shape=tuple(facts["shape"]),
        dtype=facts["dtype"],
        path=array,
    )


def _digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=65536)
def _file_digest(path: Path, size: int, changed: int) -> str:  # noqa: ARG001, both tell when to look again
    """The SHA-256 of a file: computed once per process and version of the file."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(path: Path, facts: dict[str, Any]) -> None:
    _write(path, json.dumps({**facts, "sha256": _digest(facts)}, indent=1).encode())


def _write(path: Path, *content: bytes | memoryview) -> None:
    """Write a file of the cache completely or not at all."""
    try:
        # Scans of patients: only the user may read them.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, *content, shared=True)
    except OSError as error:
        if isinstance(error.__cause__, FileNotFoundError) and path.exists():
            # Another process was first, and wrote the same bytes.
            return
        words = str(error) if isinstance(error, StorageError) else f"{path} cannot be written ({error.strerror})."
        raise StorageError(f"{words} Prepared slices need room: set cache: to another folder.") from error


@lru_cache(maxsize=4096)
def _mapped(path: Path) -> NDArray[Any]:
    """The array of a file, mapped: pages are read when touched and shared between processes."""
    return np.load(path, mmap_mode="r", allow_pickle=False)
