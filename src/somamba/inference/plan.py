"""Which files are reconstructed, and where each result goes: jobs, before anything is opened. It imports no torch.

What can be known before any computing is refused here: names that stand for no format, places that cannot be written,
and formats whose package is not installed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from somamba.durable import check_writable
from somamba.errors import ConfigError, DataError
from somamba.extras import require
from somamba.raw.naming import ENDINGS, named_file, stem
from somamba.registry import Registry

OUTPUT_ENDINGS: Registry[tuple[str, ...]] = Registry(
    "output format",
    {"h5": (".h5", ".hdf5"), "nii": (".nii.gz", ".nii"), "dcm": ("", ".dcm"), "npy": (".npy",), "png": (".png",)},
)
"""What the names of each format end in, the usual ending first; an empty one stands for a folder."""
PATTERN = frozenset("*?[")
FILE_LIKE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}")
"""Endings that look like those of files, such as ``.mat``."""


class Output(NamedTuple):
    """One file to write."""

    path: Path
    format: str


@dataclass(frozen=True, kw_only=True)
class Job:
    """One scan, and what to make of it."""

    source: Path
    outputs: tuple[Output, ...]


class Source(NamedTuple):
    """A file to reconstruct, and what its results are called within the folder of results."""

    path: Path
    name: str


def plan(inputs: Sequence[str], output: Path, formats: Sequence[str] = ()) -> list[Job]:
    """Decide what is written where.

    Args:
        inputs: Files, patterns such as ``scans/*.h5``, and folders, in which all files that can be read are taken;
            results of a folder keep their place below it.
        output: A file, for one input, or a folder.
        formats: From `FORMATS`; by default the one that a file's name tells, or ``h5`` in a folder.

    Raises:
        DataError: a pattern or a folder without any scan.
        ConfigError: two results of the same name, one that would replace an input, or a name that stands for no format.
        StorageError: a place that cannot be written.
        MissingExtraError: a format whose package is not installed.
    """
    sources = {source.path: source for text in inputs for source in _sources(text, output)}
    wanted = list(dict.fromkeys(formats))
    jobs = {path: _job(source, output, wanted, len(sources)) for path, source in sources.items()}
    _check_outputs(list(jobs.values()))
    for place, format_name in dict.fromkeys((path.parent, name) for job in jobs.values() for path, name in job.outputs):
        check_writable(place)
        if format_name == "dcm":
            require("pydicom", extra="dicom")
    return list(jobs.values())


def shard(jobs: Sequence[Job], number: int, count: int) -> list[Job]:
    """Every ``count``-th job, beginning with the ``number``-th: shards 1 to ``count`` together have each job once.

    Args:
        jobs: All jobs.
        number: Which shard, from 1.
        count: How many shards there are.
    """
    if not 1 <= number <= count:
        raise ConfigError(f"Shard {number}/{count} is none; shards are numbered from 1/{count} to {count}/{count}.")
    return list(jobs[number - 1 :: count])


def output_name(name: str, format: str) -> str:  # noqa: A002
    """The name of the output of an input with this stem."""
    return name + OUTPUT_ENDINGS[format][0]


def format_of(path: Path, format: str | None = None) -> str:  # noqa: A002
    """The format of an output: the one named, if the ending allows it, or by the ending.

    Raises:
        ConfigError: an ending that stands for no format, or for another one.
    """
    known = {ending: name for name, endings in OUTPUT_ENDINGS.items() for ending in endings if ending}
    found = next((name for ending, name in known.items() if path.name.endswith(ending)), None)
    wanted = found if format is None else format
    if wanted is None:
        raise ConfigError(
            f"{path}: its ending tells no format. Name it {', '.join(known)}; for a folder of DICOM files, say that "
            "its format is dcm."
        )
    endings = OUTPUT_ENDINGS[wanted]
    if wanted != found and (found is not None or "" not in endings):
        usual = " or ".join(ending or "nothing, for a folder," for ending in endings)
        raise ConfigError(f"{path}: the name of an output of format {wanted!r} must end in {usual}.")
    return wanted


def _sources(text: str, output: Path) -> list[Source]:
    path = Path(text).expanduser()
    if path.is_dir():
        return _sources_in(path, output.resolve())
    if PATTERN & set(text) and not path.exists():
        start = Path(path.anchor or ".")
        matches = sorted(match for match in start.glob(str(path.relative_to(start))) if match.is_file())
        if not matches:
            raise DataError(f"{text}: no file matches this pattern.")
        return [Source(named_file(match), stem(match.name)) for match in matches]
    path = named_file(path)
    return [Source(path, stem(path.name))]


def _sources_in(folder: Path, output: Path) -> list[Source]:
    top = folder.resolve()
    if output == top:
        raise ConfigError(f"Results in {folder} would be taken for scans the next time. Choose another folder.")
    # Results of an earlier run may lie below the scans.
    inside = top in output.parents
    found = [path for path in sorted(folder.rglob("*")) if _readable(path)]
    found = [path for path in found if not (inside and output in path.resolve().parents)]
    if not found:
        raise DataError(f"{folder}: this folder holds no scan. Read are {', '.join(ENDINGS)}.")
    return [Source(path, str(path.relative_to(folder).with_name(stem(path.name)))) for path in found]


def _readable(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and path.name.endswith(ENDINGS)


def _job(source: Source, output: Path, formats: Sequence[str], count: int) -> Job:
    if _names_file(output):
        if count > 1:
            raise ConfigError(f"{output} is one file, for {count} scans. Give a folder: -o {output.stem}/ --format ...")
        if len(formats) > 1:
            raise ConfigError(f"{output} is one file, for {len(formats)} formats. Give a folder.")
        return Job(source=source.path, outputs=(Output(output, format_of(output, *formats)),))
    outputs = (Output(output / output_name(source.name, name), name) for name in formats or ("h5",))
    return Job(source=source.path, outputs=tuple(outputs))


def _names_file(output: Path) -> bool:
    if output.is_dir():
        return False
    try:
        format_of(output)
    except ConfigError as error:
        if output.exists():
            raise ConfigError(f"{output} is a file and not a folder; choose another place for the results.") from None
        if FILE_LIKE.fullmatch(output.suffix):
            raise ConfigError(f"{error} If {output} is to be a folder, make it first.") from None
        return False
    return True


def _check_outputs(jobs: Sequence[Job]) -> None:
    inputs = {job.source.resolve() for job in jobs}
    taken: dict[Path, Path] = {}
    for job in jobs:
        for path, _ in job.outputs:
            if path.resolve() in inputs:
                raise ConfigError(f"{path} is a scan and would be replaced by a result. Choose another folder.")
            if path in taken:
                raise ConfigError(
                    f"{taken[path]} and {job.source} would both be written to {path}. Reconstruct them into different "
                    "folders, or name the folder that holds both: results keep their place below it."
                )
            taken[path] = job.source
