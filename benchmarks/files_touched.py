"""Which of our files one command goes through.

A file is touched if one of its functions is called while the command runs. What only an import executes does not
count: class bodies, tables of names, the networks that are not asked for. Files of the process that reads foreign files
are not seen. Run it as

    python benchmarks/files_touched.py reconstruct scan.npy -o image.nii.gz --again

or without arguments, which makes a small scan in a temporary folder and reconstructs it.
"""

import sys
import tempfile
import threading
from collections import Counter
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import somamba
from somamba.cli.main import main

SOURCE = Path(somamba.__file__).parent
NETWORK = ("models", "physics", "scan", "native")
"""Packages inside of one call ``model(y, A)``."""


def files_touched(arguments: list[str]) -> set[str]:
    """Run one command, and return the files of which it called a function, relative to the package."""
    touched: set[str] = set()

    def watch(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_flags & CO_NEWLOCALS and code.co_filename.startswith(str(SOURCE)):
            name = str(Path(code.co_filename).relative_to(SOURCE))
            if name not in touched and not _importing(frame):
                touched.add(name)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        code = main(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if code != 0:
        sys.exit(code)
    return {name for name in touched if not name.endswith("__init__.py")}


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _small_scan(path: Path) -> None:
    """Four coils that see a disc, with every second column beyond the centre left out."""
    y, x = np.mgrid[-1:1:48j, -1:1:40j]
    disc = (x**2 + y**2 < 0.6) * (1 + 0.3 * np.cos(9 * x))
    angles = np.arange(4)[:, None, None] * np.pi / 2
    images = disc * np.exp(-((x - np.cos(angles)) ** 2) - (y - np.sin(angles)) ** 2 + 1j * angles)
    kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(images, axes=(-2, -1)), norm="ortho"), axes=(-2, -1))
    kspace[..., 1::2] *= np.abs(np.arange(1, 40, 2) - 20) < 9
    np.save(path, kspace.astype(np.complex64))


def _run(arguments: list[str]) -> None:
    touched = files_touched(arguments)
    imported = {module for module in sys.modules if module.startswith("somamba.")}
    inside = {name for name in touched if name.startswith(NETWORK)}
    print(*sorted(touched), sep="\n")
    rooms = Counter(name.split("/")[0] if "/" in name else "single files" for name in touched)
    print("\n" + ", ".join(f"{room} {count}" for room, count in sorted(rooms.items())))
    print(f"{len(touched)} files touched, {len(touched) - len(inside)} of them outside of the network")
    print(f"{len(imported)} modules imported")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _run(sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            scan = Path(folder) / "scan.npy"
            _small_scan(scan)
            _run(["reconstruct", str(scan), "-o", str(Path(folder) / "image.nii.gz")])
