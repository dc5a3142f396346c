"""Opens hostile files as a user would and measures what that costs: a program, so that its memory is its own.

    python attack.py bombs FOLDER           every file of `files.bombs`
    python attack.py mutants FOLDER COUNT SEED

One JSON line per kind of file: how many were read and refused, and the worst memory (MiB) and processor time (s) of one
file, of this process and the reading process together.
"""

import json
import os
import resource
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np

from data.readers.made_dicom import write_series
from files.bombs import BOMBS
from files.mutants import mutate_file
from raw.made import coil_kspace, columns, lines_of, write_cfl, write_fastmri, write_mrd
from somamba.data.case import LeftOut
from somamba.data.catalog import DATASETS
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.prepare import prepare
from somamba.errors import DataError, SomambaError
from somamba.files.reading import inspect, read
from somamba.files.sandbox import sandbox
from somamba.raw.describe import describe
from somamba.raw.opening import open_raw_scan

CASES = ("fastmri", "fastmri_multicoil", "m4raw", "cc359", "cc359_multicoil", "acdc", "prostate158")


def status(pid: int | str) -> int:
    """The largest memory of a process so far, in MiB."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) >> 10


class Meter:
    """Memory and processor time of this process and of all reading processes together."""

    def __init__(self) -> None:
        self._begun = self._seconds()

    @staticmethod
    def _seconds() -> float:
        spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        child = sandbox()._child
        fields = Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split() if child is not None else ()
        living = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
        return sum(one.ru_utime + one.ru_stime for one in spent) + living

    def seconds(self) -> float:
        """Processor time since the beginning."""
        return self._seconds() - self._begun

    @staticmethod
    def memory() -> int:
        """The largest memory so far: of this process, and of the largest reading process."""
        child = sandbox()._child
        living = status(child.pid) if child is not None else 0
        return status("self") + max(living, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)


class Results:
    """What came of the files of every kind."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        self._costs: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._words: dict[str, str] = {}

    def attempt(self, kind: str, action: Callable[[], None]) -> None:
        """Do something with a file; only our own errors are expected."""
        meter = Meter()
        try:
            action()
            self._outcomes[kind]["read"] += 1
        except SomambaError as error:
            self._outcomes[kind]["refused"] += 1
            self._words[kind] = str(error)
        self._costs[kind].append((meter.memory(), meter.seconds()))

    def show(self) -> None:
        """Print a line for every kind."""
        for kind, outcomes in self._outcomes.items():
            memory, seconds = (max(values) for values in zip(*self._costs[kind], strict=True))
            facts = {"kind": kind, **outcomes, "memory": memory, "seconds": seconds, "words": self._words.get(kind, "")}
            sys.stdout.write(json.dumps(facts) + "\n")


def open_and_read(path: Path) -> None:
    """What `somamba inspect` does, and the slices at both ends; what `somamba data check folder` does with DICOM."""
    if path.suffix == ".dcm":
        read(path, "image", 0, inspect(path).arrays["image"].shape[0])
        return
    scan = open_raw_scan(path)
    assert describe(scan)
    for index in {0, scan.slices - 1}:
        assert np.isfinite(scan.kspace(index).numpy()).all()


def read_case(entry, config: DataConfig) -> None:
    """Prepare a case of a dataset to its last slice."""
    case = DATASETS[config.dataset].open_case(entry)
    if isinstance(case, LeftOut):
        raise DataError(f"{entry.id}: {case.reason}")
    ready = prepare(case, config)
    assert ready.array.shape == (len(ready.slices), 16, 16)
    assert np.isfinite(ready.array).all()


def write_scans(folder: Path) -> list[Path]:
    """One small file of every format."""
    kspace = columns(coil_kspace(2, 16, 16), 2, 4)
    np.save(folder / "a.npy", kspace)
    np.save(folder / "b.npy", np.asfortranarray(kspace.astype(">c8")))
    np.savez(folder / "c.npz", kspace=kspace, csm=np.ones_like(kspace))
    np.savez_compressed(folder / "d.npz", kspace=kspace, mask=kspace.any(axis=(0, 1)))
    write_fastmri(folder / "e.h5", kspace=kspace[None], mask=kspace.any(axis=(0, 1)))
    write_mrd(folder / "f.h5", lines_of(kspace), (16, 16))
    nibabel.Nifti1Image(np.abs(kspace), np.eye(4)).to_filename(folder / "g.nii.gz")
    nibabel.Nifti1Image((100 * np.abs(kspace)).astype(np.int16), np.eye(4)).to_filename(folder / "h.nii")
    write_cfl(folder / "i.cfl", kspace.swapaxes(-2, -1), (16, 16, 1, 2))
    return sorted(path for path in folder.iterdir() if path.suffix != ".hdr")


def attack_with_bombs(folder: Path) -> Results:
    results = Results()
    for name, make in BOMBS.items():
        path = make(folder)
        results.attempt(name, lambda path=path: open_and_read(path))
    return results


def attack_with_mutants(folder: Path, count: int, seed: int) -> Results:
    draw, results = np.random.Generator(np.random.Philox(key=seed)), Results()
    actions: list[tuple[str, tuple[Path, ...], Callable[[], None]]] = []
    for name in CASES:
        write_phantom(name, folder / name, cases={"train": 1}, shape=(16, 16))
        entry = DATASETS[name].find(folder / name).entries[0]
        config = DataConfig(dataset=name, path=str(folder / name), size=(16, 16))
        actions.append((name, entry.files, lambda entry=entry, config=config: read_case(entry, config)))
    write_series(folder / "dicom")
    (entry,) = DATASETS["folder"].find(folder / "dicom").entries
    config = DataConfig(dataset="folder", path=str(folder / "dicom"), size=(16, 16))
    actions.append(("dicom", entry.files, lambda entry=entry, config=config: read_case(entry, config)))
    (folder / "scans").mkdir()
    for path in write_scans(folder / "scans"):
        victims = (path, path.with_suffix(".hdr")) if path.suffix == ".cfl" else (path,)
        actions.append((path.name, victims, lambda path=path: open_and_read(path)))
    for turn in range(count):
        kind, victims, action = actions[turn % len(actions)]
        victim = victims[int(draw.integers(len(victims)))]
        sound = victim.read_bytes()
        victim.write_bytes(mutate_file(sound, "".join(victim.suffixes[-2:]), draw))
        results.attempt(kind, action)
        victim.write_bytes(sound)
    return results


if __name__ == "__main__":
    what, folder, *numbers = sys.argv[1:]
    if what == "bombs":
        attack_with_bombs(Path(folder)).show()
    else:
        attack_with_mutants(Path(folder), *map(int, numbers)).show()
