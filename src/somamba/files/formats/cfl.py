"""BART's pairs of files for the reading process: ``name.hdr`` declares up to 16 sizes, ``name.cfl`` holds the values.

The first axis varies fastest: readout, phase encoding, partition encoding, coils, sets of maps, then echoes, times,
slices and others. Here all of those from echoes on are one axis of frames.
"""

from pathlib import Path
from typing import Any

import numpy as np

from somamba.files.formats.npy import Allocate, Layout, read_rows
from somamba.files.limits import RefusedError, check_array, n_bytes
from somamba.regular_files import check_regular, open_regular

COMPLEX64 = np.dtype("<c8")
AXES = 16
MAPS = 4
"""The axis that numbers sets of coil maps."""
HEADER_BYTES = 1 << 16


def read_sizes(path: Path) -> tuple[int, ...]:
    """The 16 sizes that a header declares."""
    with open_regular(path) as file:
        lines = iter(file.read(HEADER_BYTES).decode(errors="replace").splitlines())
    for line in lines:
        if line.strip() == "# Dimensions":
            sizes = tuple(int(word) for word in next(lines, "").split()[: AXES + 1])
            if not 1 <= len(sizes) <= AXES or min(sizes) < 1:
                raise RefusedError(f"{path.name} declares the sizes {sizes}")
            return sizes + (1,) * (AXES - len(sizes))
    raise RefusedError(f"{path.name} has no line '# Dimensions'")


def open_cfl(path: str) -> Layout:
    """The array (frames, coils, partitions, phase encoding, readout) that a pair declares, checked."""
    header = Path(path).with_suffix(".hdr")
    if not header.exists():
        raise RefusedError(f"{header.name}, which declares its sizes, is not beside it")
    sizes = read_sizes(header)
    if sizes[MAPS] > 1:
        raise RefusedError(f"it holds {sizes[MAPS]} sets of maps; one is used: `bart ecalib -m1`")
    shape = (n_bytes(sizes[MAPS + 1 :], 1), *sizes[MAPS - 1 :: -1])
    check_array(shape, COMPLEX64)
    wanted, found = n_bytes(shape, COMPLEX64.itemsize), check_regular(path).st_size
    if wanted != found:
        raise RefusedError(
            f"{header.name} declares {wanted} bytes, the file has {found}: it is cut short or not its own"
        )
    return Layout(shape, by_columns=False, dtype=COMPLEX64)


def inspect_cfl(path: str) -> dict[str, Any]:
    """The one array of the pair."""
    return {"arrays": {"array": open_cfl(path).declared()}}


def read_cfl(path: str, name: str, start: int, stop: int, allocate: Allocate) -> None:
    """Read frames of the array.

    Args:
        path: The .cfl file.
        name: The name of its array.
        start: The first frame.
        stop: The frame after the last one.
        allocate: Gives the memory for the answer.
    """
    if name != "array":
        raise RefusedError(f"a .cfl file has one array, 'array', not {name!r}")
    layout = open_cfl(path)
    with open_regular(path) as stream:
        read_rows(stream, 0, layout, (start, stop), allocate)
