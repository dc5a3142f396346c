"""Whole heads, and other anatomy, as NumPy archives: magnitudes with their scalp, of many contrasts and vendors.

``NAME.npz`` holds ``x``, magnitudes [row, column, slice]. The volumes come from public repositories under permissive
licences; ``docs/data.md`` lists them. Heads that occur in several volumes are one subject, so they share a split.

Some vendors fill the outer part of k-space with zeros. A network that learns from such images learns to leave it
empty, so those axes are cut to what was acquired (`ACQUIRED`), by Fourier cropping.
"""

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Case, Entry, LeftOut, Listing, Role
from somamba.errors import DataError
from somamba.files.reading import Volume, inspect, read

SUBJECTS = {
    "abdomen_haste_ax": "abdomen",
    "abdomen_haste_cor": "abdomen",
    "abdomen_haste_sag": "abdomen",
    "ms_long_p19_s1_flair": "ms_long_p19",
    "ms_long_p19_s2_flair": "ms_long_p19",
    "ms_long_p19_s2_t1w": "ms_long_p19",
    "ms_long_p20_s2_flair": "ms_long_p20",
    "ms_long_p20_s2_t1w": "ms_long_p20",
    "neck_t2star": "neck",
    "spine_t2_sag": "neck",
    "t1_flash2d_prisma3t_sag": "prisma3t",
    "t1_mprage_prisma3t": "prisma3t",
    "t1_mprage_prisma3t_cor": "prisma3t",
    "t1_gre3d_uih3t_s1": "uih3t",
    "t1_gre3d_uih3t_s2": "uih3t",
    "t1_gre3d_uih3t_s2_sag": "uih3t",
}
"""Volumes that show, or may show, the same person; every other volume is a subject of its own."""
ROLES: dict[str, Role] = {"t1_mprage_elition3t": "val", "flair_fs_torchio": "val", "t1_mprage_skyra3t_child": "test"}
"""Subjects that are not for training: two contrasts to validate on, and a head to test on."""
ACQUIRED = {
    "abdomen_haste_ax": (0.66, 1.0),
    "abdomen_haste_cor": (1.0, 0.67),
    "abdomen_haste_sag": (1.0, 0.66),
    "flair_fs_torchio": (1.0, 0.76),
    "ms_long_p19_s1_flair": (1.0, 0.69),
    "ms_long_p19_s2_flair": (1.0, 0.65),
    "ms_long_p19_s2_t1w": (1.0, 0.75),
    "ms_long_p20_s2_flair": (1.0, 0.67),
    "ms_long_p20_s2_t1w": (1.0, 0.76),
    "t1_flash2d_prisma3t_sag": (1.0, 0.84),
}
"""Share of k-space along rows and columns that is not zero-filled, as read off the spectra."""


def find(root: Path) -> Listing:
    """List the volumes of a folder."""
    if not root.is_dir():
        raise DataError(f"{root} is not a folder. Volumes are expected there as NAME.npz with an array x inside.")
    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    for path in sorted(root.iterdir()):
        if path.suffix != ".npz":
            left_out.append(LeftOut(name=path.name, reason="not a NumPy archive"))
            continue
        subject = SUBJECTS.get(path.stem, path.stem)
        entries.append(Entry(id=path.stem, subject=subject, role=ROLES.get(subject, "train"), files=(path,), root=root))
    return Listing(entries=tuple(entries), left_out=tuple(left_out))


def open_case(entry: Entry) -> Case | LeftOut:
    """Check one volume and return its case."""
    (path,) = entry.files
    rows, columns, slices = inspect(path).array("x", axes=3, kinds="uif").shape
    size = acquired_size(path.stem, (rows, columns))
    return Case(
        id=entry.id,
        source=str(path),
        image=Volume(shape=(slices, *size), read=partial(read_image, path, rows, size), itemsize=4),
    )


def acquired_size(name: str, shape: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns that were acquired, even numbers; those of the file for a volume that is not zero-filled."""
    rows, columns = (
        length if share == 1 else 2 * round(share * length / 2)
        for share, length in zip(ACQUIRED.get(name, (1.0, 1.0)), shape, strict=True)
    )
    return rows, columns


def read_image(path: Path, rows: int, size: tuple[int, int], start: int, stop: int) -> NDArray[np.float32]:
    """Slices of the volume. They lie on its last axis, so all of it is read; volumes are small.

    Args:
        path: The NIfTI file.
        rows: The number of rows of the volume, all of which are read.
        size: Rows and columns that a slice is brought to.
        start: The first slice.
        stop: The slice after the last one.
    """
    images = np.moveaxis(read(path, "x", 0, rows)[..., start:stop], -1, 0).astype(np.float32)
    return fourier_cropped(images, size)


def fourier_cropped(images: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """The magnitude of the images at the resolution of the central part of their spectrum; brightness is kept."""
    if images.shape[1:] == size:
        return np.ascontiguousarray(images)
    spectra = np.fft.fftshift(np.fft.fft2(images), axes=(1, 2))
    starts = [length // 2 - wanted // 2 for length, wanted in zip(images.shape[1:], size, strict=True)]
    kept = spectra[:, starts[0] : starts[0] + size[0], starts[1] : starts[1] + size[1]]
    kept = kept * (size[0] * size[1] / (images.shape[1] * images.shape[2]))
    return np.abs(np.fft.ifft2(np.fft.ifftshift(kept, axes=(1, 2)))).astype(np.float32)
