"""Files for the tests of this folder."""

from pathlib import Path

import h5py


def hdf5(path: Path, **arrays) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path
