"""Proves an installed somamba: the kernels run and agree with the definition, and a real scan becomes an image.

    python .ci/installed.py

It is run outside of the source tree, in an environment that needs no compiler.
"""

import io
import json
import tempfile
from contextlib import chdir, redirect_stdout
from importlib.resources import files
from pathlib import Path

import numpy as np

import somamba
from somamba.cli.main import main

LARGEST_ERROR = 1e-4
"""How far a backend may be off from the definition in float64, relative; float32 gives about 1e-6."""


def spoken(*arguments: str) -> str:
    """What a command prints; a command that fails ends this program."""
    with redirect_stdout(io.StringIO()) as output:
        status = main(list(arguments))
    if status != 0:
        raise SystemExit(f"somamba {' '.join(arguments)} left with {status}")
    return output.getvalue()


def check() -> None:
    """Raise `SystemExit` with the reason if anything is wrong."""
    package = Path(somamba.__file__)
    if "site-packages" not in package.parts:
        raise SystemExit(f"This is not an installed package: {package}")
    doctor = json.loads(spoken("doctor", "--json"))
    kernels = doctor["machine"]["compiled kernels"]
    if not kernels.startswith("built"):
        raise SystemExit(f"The kernels do not run: {kernels}")
    for scan in doctor["scans"]:
        native = next(row for row in scan["backends"] if row["backend"] == "native")
        if not float(native["off_by"]) < LARGEST_ERROR:
            raise SystemExit(f"{scan['scan']}: the kernels are off by {native['off_by']}")
    with np.load(str(files("somamba") / "samples" / "brain_13coil.npz")) as sample:
        pairs = sample["kspace"].astype(np.float32)
    kspace = pairs[..., 0] + 1j * pairs[..., 1]
    middle = kspace.shape[-1] // 2
    acquired = np.arange(kspace.shape[-1]) % 4 == 0
    acquired[middle - 12 : middle + 12] = True
    image = somamba.load().reconstruct(kspace * acquired)
    if not np.isfinite(image).all() or image.shape != kspace.shape[-2:]:
        raise SystemExit(f"The image is {image.shape}, and k-space is {kspace.shape}")
    # A magnitude image of a head is bright in the middle and dark in the corners, and a failed one is neither.
    size = np.abs(image)
    if size[80:144, 80:144].mean() < 5 * size[:16, :16].mean():
        raise SystemExit("The image shows no head.")
    print(f"somamba {doctor['machine']['somamba']}: kernels {kernels}, image {image.shape}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as elsewhere, chdir(elsewhere):
        check()
