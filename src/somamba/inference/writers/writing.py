"""The door: one reconstruction, one path, the format by its ending; written whole or not at all."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from somamba.errors import ConfigError, DataError, StorageError
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.writers.numpy_file import npy_provenance, write_npy
from somamba.registry import Registry


class Format(NamedTuple):
    """How pictures are stored in one kind of file."""

    endings: tuple[str, ...]
    """What names end in; the first one is the usual one. Empty: a folder."""
    write: Callable[[Reconstruction, Path], None]
    provenance: Callable[[Path], dict[str, Any]]


FORMATS = Registry(
    "output format",
    {
        "npy": Format((".npy",), write_npy, npy_provenance),
    },
)


def write(reconstruction: Reconstruction, path: str | Path, format: str | None = None) -> None:  # noqa: A002
    """Write a reconstruction; folders on the way are made.

    Args:
        reconstruction: What to write.
        path: Where to.
        format: Name of an entry of `FORMATS`; by the ending of ``path`` if None.

    Raises:
        ConfigError: a format or an ending that is not known.
        StorageError: a place that cannot be written, a full disk, or something there that somamba did not write; what
            was there is untouched.
        MissingExtraError: the format needs a package that is not installed.
    """
    path = Path(path)
    chosen = FORMATS[format_of(path, format)]
    try:
        read_provenance(path, format)
    except DataError as error:
        raise StorageError(f"{error} It is not replaced: move it away, or choose another name.") from error
    chosen.write(reconstruction, path)


def read_provenance(path: str | Path, format: str | None = None) -> dict[str, Any] | None:  # noqa: A002
    """How a written file came about.

    Args:
        path: What `write` wrote.
        format: As for `write`.

    Returns:
        The provenance of the reconstruction; None where nothing is there.

    Raises:
        DataError: what is there was not written by somamba, or is damaged.
    """
    path = Path(path)
    chosen = FORMATS[format_of(path, format)]
    return chosen.provenance(path) if path.exists() else None


def output_name(name: str, format: str) -> str:  # noqa: A002
    """How the output of an input with this stem is called."""
    return name + FORMATS[format].endings[0]


def format_of(path: Path, format: str | None = None) -> str:  # noqa: A002
    """The format of an output: the one named, if the ending allows it, or by the ending."""
    known = {ending: name for name, entry in FORMATS.items() for ending in entry.endings if ending}
    found = next((name for ending, name in known.items() if path.name.endswith(ending)), None)
    wanted = found if format is None else format
    if wanted is None:
        raise ConfigError(f"{path}: its ending tells no format. Name it {', '.join(known)}.")
    if wanted != found and "" not in FORMATS[wanted].endings:
        raise ConfigError(f"{path}: a file of format {wanted!r} must end in {' or '.join(FORMATS[wanted].endings)}.")
    return wanted
