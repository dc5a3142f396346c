"""A raw scan of a user's own as a case: measured k-space, which must be fully sampled to be learned from.

ISMRMRD files and fastMRI's layout are opened as `somamba reconstruct` opens them: readouts in their places,
oversampling trimmed, the phase encoding along x.
"""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Case, Entry
from somamba.data.readers.fastmri import read_image
from somamba.errors import DataError
from somamba.files.reading import FileInfo, Volume

KSPACE, IMAGES = "kspace", "reconstruction_rss"
"""Names in fastMRI's files."""


def holds_raw_scan(info: FileInfo) -> bool:
    """Whether an HDF5 file holds readouts (ISMRMRD) or k-space in fastMRI's layout."""
    return KSPACE in info.arrays or any(name.endswith("/head") for name in (*info.arrays, *info.refused))


def open_raw_case(entry: Entry, info: FileInfo) -> Case:
    """The case of a file that holds a raw scan; fastMRI's own images come with it.

    Args:
        entry: The case by name.
        info: The table of contents of its file.

    Raises:
        DataError: the file cannot be read, or a slice is undersampled.
    """
    # `somamba data --help` lists the datasets, and must not wait for torch.
    from somamba.raw.opening import open_raw_scan
    from somamba.raw.raw_scan import slice_with_signal

    scan = open_raw_scan(info.path)
    kspace = Volume(shape=scan.volume.shape, read=partial(_read_complete, info.path, scan.volume))
    kspace.slice(slice_with_signal(scan.volume, info.path))
    image = None
    if IMAGES in info.arrays:
        shape = info.array(IMAGES, axes=3, kinds="f").shape
        image = Volume(shape=shape, read=partial(read_image, info.path), itemsize=4)
    return Case(
        id=entry.id,
        source=str(info.path),
        kspace=kspace,
        image=image,
        notes=(f"A raw scan ({scan.format}): protocol raw learns from its k-space.", *scan.notes),
    )


def _read_complete(path: Path, volume: Volume, start: int, stop: int) -> NDArray[np.complex64]:
    """Slices of k-space; one that is undersampled is refused, and an empty one stays empty."""
    import torch

    from somamba.raw.sampling import find_sampling

    block = volume.read(start, stop)
    for number, kspace in enumerate(block, start):
        if not kspace.any():
            continue
        sampling = find_sampling(torch.from_numpy(np.asarray(kspace)))
        if not sampling.complete:
            raise DataError(
                f"{path}: slice {number} is undersampled ({sampling.kind}, x{sampling.acceleration:.1f}), so there is "
                "no image to learn from. Use fully sampled scans, or reconstruct it first and use the images: somamba "
                "reconstruct"
            )
    return block
