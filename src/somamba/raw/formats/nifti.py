"""NIfTI images. They are magnitudes: the k-space that a scanner measured is gone, so it is simulated from them."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.reading import FileInfo, Volume, inspect, read
from somamba.physics.fourier import fft2c
from somamba.raw.arrays import Buffered, check_slice
from somamba.raw.raw_scan import RawScan

NOTE = (
    "This is a magnitude image, not a measurement: k-space was computed from it, with one coil, no phase and no noise. "
    "What is reconstructed from it shows what a method does to an image, not what it would do at a scanner."
)


def open_nifti(path: Path) -> RawScan:
    """Open a stack of images; of a series (x, y, z, time), one volume after the other."""
    contents = inspect(path)
    shape = contents.arrays["image"].shape
    if len(shape) not in (2, 3, 4) or min(shape[-2:]) < 2:
        raise DataError(f"{path}: an image (x, y), (x, y, z) or (x, y, z, time) is read, not {shape[::-1]}.")
    height, width = shape[-2:]
    check_slice(path, 1, height, width)
    stack = shape[-3] if len(shape) > 2 else 1
    volumes = shape[0] if len(shape) == 4 else 1

    def read_kspace(start: int, stop: int) -> NDArray[np.complex64]:
        images = _read_images(path, len(shape), stack, start, stop)
        return fft2c(torch.from_numpy(images.astype(np.complex64))[:, None]).numpy()

    slices = volumes * stack
    return RawScan(
        path=path,
        format="NIfTI magnitude image",
        volume=Volume(shape=(slices, 1, height, width), read=Buffered(read_kspace, slices, 8 * height * width)),
        image_shape=(height, width),
        volumes=volumes,
        voxel=_voxel(contents),
        affine=_affine(contents),
        simulated=True,
        notes=(NOTE,),
    )


def _voxel(contents: FileInfo) -> tuple[float, float, float] | None:
    """The voxel size of the file, of which damaged ones have zeros or NaN."""
    sizes = contents.voxel or ()
    if len(sizes) < 3 or not all(0 < size < np.inf for size in sizes[-3:]):
        return None
    return sizes[-3], sizes[-2], sizes[-1]


def _affine(contents: FileInfo) -> NDArray[np.float64] | None:
    """The affine of the file, unless it is damaged: NaN, or three directions that do not span a volume."""
    affine = np.array(contents.affine if contents.affine is not None else np.nan)
    return affine if np.isfinite(affine).all() and np.linalg.matrix_rank(affine) == 4 else None


def _read_images(path: Path, axes: int, stack: int, start: int, stop: int) -> NDArray[np.float32]:
    """Slices ``start`` to ``stop`` counted over all volumes."""
    if axes == 3:
        return read(path, "image", start, stop)
    if axes == 2:
        # The only slice: its rows are what the file has first.
        return read(path, "image", 0, inspect(path).arrays["image"].shape[0])[None]
    volumes = range(start // stack, (stop - 1) // stack + 1)
    images = np.concatenate([read(path, "image", volume, volume + 1)[0] for volume in volumes])
    return images[start - volumes.start * stack : stop - volumes.start * stack]
