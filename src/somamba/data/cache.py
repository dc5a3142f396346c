"""Prepared slices on disk: one ``.npy`` and one JSON manifest per case, so that nobody waits for gzip twice.

The name of a file contains a hash of the preparation and of the source files (path, size, time of change): other
settings or another source give another name. Files appear complete or not at all (written aside, flushed, renamed), so
any number of processes may prepare the same case at once: the last one wins, and all wrote the same bytes.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Entry, LeftOut
from somamba.data.config import DataConfig
from somamba.data.prepare import prepare
from somamba.durable import flush_folder
from somamba.errors import DataError, StorageError


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
    """Where prepared slices are kept."""
    if config.cache is not None:
        return Path(config.cache).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "somamba"


def prepared_case(entry: Entry, config: DataConfig) -> PreparedCase | LeftOut:
    """The prepared slices of a case, from disk where they are there, else made now."""
    folder = cache_folder(config) / config.dataset
    recipe = {**config.preparation(), "sources": fingerprint(entry)}
    key = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:20]
    manifest, array = folder / f"{entry.id}-{key}.json", folder / f"{entry.id}-{key}.npy"
    found = _known(manifest, array)
    if found is not None:
        return found
    case = config.entry.open_case(entry)
    if isinstance(case, LeftOut):
        _write(manifest, lambda file: file.write(_json({"left_out": case.reason, "recipe": recipe})))
        return case
    ready = prepare(case, config)
    facts = {
        "slices": ready.slices,
        "empty": ready.left_out,
        "shape": ready.array.shape,
        "dtype": ready.array.dtype.str,
        "source": case.source,
        "recipe": recipe,
    }
    # The manifest comes last: where there is one, its slices are there too.
    _write(array, lambda file: np.save(file, ready.array, allow_pickle=False))
    _write(manifest, lambda file: file.write(_json(facts)))
    return PreparedCase(
        id=entry.id,
        slices=ready.slices,
        left_out=ready.left_out,
        shape=ready.array.shape,
        dtype=ready.array.dtype.str,
        path=array,
    )


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
    """What the manifest says, if it is there and its slices are; a damaged entry is made anew."""
    name = manifest.stem.rsplit("-", 1)[0]
    try:
        facts = json.loads(manifest.read_bytes())
        if "left_out" in facts:
            return LeftOut(name=name, reason=facts["left_out"])
        case = PreparedCase(
            id=name,
            slices=tuple(facts["slices"]),
            left_out=tuple((number, reason) for number, reason in facts["empty"]),
            shape=tuple(facts["shape"]),
            dtype=facts["dtype"],
            path=array,
        )
        stored = np.load(array, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None
    intact = stored.shape == case.shape and stored.dtype.str == case.dtype and len(case.slices) == len(stored)
    return case if intact else None


def _json(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, indent=1).encode()


def _write(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file so that it is there completely or not at all, whatever happens meanwhile."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        # Scans of people: for the user's eyes only.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with aside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        flush_folder(path.parent)
    except OSError as error:
        raise StorageError(_complaint(path, error)) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def _complaint(path: Path, error: OSError) -> str:
    free = ""
    with contextlib.suppress(OSError):
        free = f"; {shutil.disk_usage(path.parent).free / 2**20:.0f} MiB are free there"
    return (
        f"Prepared slices cannot be written to {path} ({error.strerror or error}){free}. "
        "Set cache: to a folder with room for them."
    )


@lru_cache(maxsize=4096)
def _mapped(path: Path) -> NDArray[Any]:
    """The array of a file, mapped: pages are read when touched and shared between processes."""
    return np.load(path, mmap_mode="r", allow_pickle=False)
