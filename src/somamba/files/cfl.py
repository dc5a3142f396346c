"""BART's pairs of files for the reading process: ``name.hdr`` declares up to 16 sizes, ``name.cfl`` holds the values.

The first axis varies fastest: readout, phase encoding, partition encoding, coils, sets of maps, then echoes, times,
slices and others. Here all of those from echoes on are one axis of frames.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.files.limits import Answer, RefusedError, array_answer, check_array, check_rows, declared

COMPLEX64 = np.dtype("<c8")
AXES = 16
MAPS = 4
"""The axis that numbers sets of coil maps."""
HEADER_BYTES = 1 << 16


def read_sizes(path: Path) -> tuple[int, ...]:
    """The 16 sizes that a header declares."""
    with path.open("rb") as file:
        lines = iter(file.read(HEADER_BYTES).decode(errors="replace").splitlines())
    for line in lines:
        if line.strip() == "# Dimensions":
            sizes = tuple(int(word) for word in next(lines, "").split())
            if not 1 <= len(sizes) <= AXES or min(sizes) < 1:
                raise RefusedError(f"{path.name} declares the sizes {sizes}")
            return sizes + (1,) * (AXES - len(sizes))
    raise RefusedError(f"{path.name} has no line '# Dimensions'")


def open_cfl(path: str) -> NDArray[Any]:
    """A mapped array (frames, coils, partitions, phase encoding, readout)."""
    header = Path(path).with_suffix(".hdr")
    if not header.is_file():
        raise RefusedError(f"{header.name}, which declares its sizes, is not beside it")
    sizes = read_sizes(header)
    if sizes[MAPS] > 1:
        raise RefusedError(f"it holds {sizes[MAPS]} sets of maps; one is used: `bart ecalib -m1`")
    frames = 1
    for size in sizes[MAPS + 1 :]:
        frames *= size
    shape = (frames, *sizes[MAPS - 1 :: -1])
    check_array(shape, COMPLEX64)
    wanted, found = COMPLEX64.itemsize * int(np.prod(shape, dtype=object)), Path(path).stat().st_size
    if wanted != found:
        raise RefusedError(
            f"{header.name} declares {wanted} bytes, the file has {found}: it is cut short or not its own"
        )
    return np.memmap(path, dtype=COMPLEX64, mode="r", shape=shape)


def inspect_cfl(path: str) -> Answer:
    """The one array of the pair."""
    return Answer({"arrays": {"array": declared(open_cfl(path))}})


def read_cfl(path: str, name: str, start: int, stop: int) -> Answer:
    """Frames of the array."""
    if name != "array":
        raise RefusedError(f"a .cfl file has one array, 'array', not {name!r}")
    array = open_cfl(path)
    check_rows(array.shape, array.dtype.itemsize, start, stop)
    return array_answer(array[start:stop])
