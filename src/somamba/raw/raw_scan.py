"""The record that every format becomes: all that a reconstruction has to know of a file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Complex, Shaped
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import DataError
from somamba.files.reading import Volume
from somamba.notebook import html_table
from somamba.raw.sampling import SliceSampling, find_sampling


@dataclass(frozen=True, kw_only=True, eq=False)
class Noise:
    """The noise of one sample of k-space."""

    deviation: float
    """Standard deviation of its real part, and of its imaginary part; root mean square over the coils."""
    source: str
    """What it was taken from, for people."""
    covariance: NDArray[np.complex128] | None = None
    """The covariance between coils, if there is a noise scan: the mean of ``n n^H``, of both parts together."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RawScan:
    """One scan, opened but not read: slices come from the file when they are asked for.

    K-space is centred: `somamba.physics.fourier.ifft2c` gives the coil images. Rows (y) are the readout, columns (x)
    the phase encoding. Repeated scans of the same slices are numbered one volume after the other.
    """

    path: Path
    format: str
    """Its name, for people."""
    volume: Volume
    """``(slices, coils, y, x)`` complex64, zero where nothing was acquired."""
    image_shape: tuple[int, int]
    """Rows and columns of the picture that `picture` makes of a reconstructed image."""
    volumes: int = 1
    """How often the stack of slices was scanned: frames, echoes, repetitions."""
    voxel: tuple[float, float, float] | None = None
    """Size in mm along the slices, rows and columns of the picture."""
    affine: NDArray[np.float64] | None = None
    """The map from column, row and slice of the picture to mm, right, anterior, superior, as in a NIfTI file."""
    noise: Noise | None = None
    coil_maps: Volume | None = None
    """``(1 or slices, coils, y, x)`` complex64, if they were given."""
    reference: Volume | None = None
    """A separate calibration scan, ``(slices, coils, y, x)``, zero outside its lines."""
    simulated: bool = False
    """The file holds magnitudes only; k-space is computed from them."""
    transposed: bool = False
    """Rows of k-space are columns of the picture: they were exchanged so that columns are the phase encoding."""
    stacked: bool = True
    """Whether the input has an axis of slices; if not, a caller's array gives a single image."""
    notes: tuple[str, ...] = ()
    """What a person should know about how the file was understood."""

    def __post_init__(self) -> None:
        if len(self.volume.shape) != 4:
            raise DataError(f"{self.path}: k-space must be (slices, coils, y, x), got {self.volume.shape}.")
        maps = self.coil_maps
        if maps is not None and (maps.shape[1:] != self.volume.shape[1:] or len(maps) not in (1, self.slices)):
            raise DataError(
                f"{self.path}: coil maps (slices, coils, y, x) of shape {maps.shape} do not fit k-space of shape "
                f"{self.volume.shape}. Give maps of the same coils and size, for one slice or for all."
            )

    def _repr_html_(self) -> str:
        """The table of ``somamba inspect``, as a notebook shows it."""
        from somamba.raw.describe import describe  # Not at the top: it reads scans, so it imports this file.

        return html_table(describe(self))

    @property
    def slices(self) -> int:
        """The number of slices, over all volumes."""
        return len(self.volume)

    @property
    def coils(self) -> int:
        """The number of receive coils."""
        return self.volume.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of k-space."""
        return self.volume.shape[2], self.volume.shape[3]

    def kspace(self, index: int) -> Complex[Tensor, "coils y x"]:
        """K-space of one slice, zero where nothing was acquired; a copy of the caller's own."""
        return _tensor(self.volume, index)

    def sampling(self, index: int) -> SliceSampling:
        """What was acquired of one slice."""
        return find_sampling(self.kspace(index))

    def picture(self, image: Shaped[Tensor, "*any y x"]) -> Shaped[Tensor, "*any rows columns"]:
        """A reconstructed image as it is shown: rows and columns as in the file, without oversampled margins."""
        turned = image.mT if self.transposed else image
        top, left = (size // 2 - wanted // 2 for size, wanted in zip(turned.shape[-2:], self.image_shape, strict=True))
        return turned[..., top : top + self.image_shape[0], left : left + self.image_shape[1]]

    def maps(self, index: int) -> Complex[Tensor, "coils y x"] | None:
        """The coil maps given for one slice, if any."""
        if self.coil_maps is None:
            return None
        return _tensor(self.coil_maps, index if len(self.coil_maps) > 1 else 0)

    def calibration(self, index: int) -> Complex[Tensor, "coils y x"]:
        """What to estimate coil maps from: the separate calibration scan if there is one, else k-space itself."""
        return _tensor(self.volume if self.reference is None else self.reference, index)


def slice_with_signal(volume: Volume, path: Path) -> int:
    """The number of a slice to look at: the one in the middle, or another one if that is empty."""
    middle = len(volume) // 2
    for index in dict.fromkeys((middle, middle // 2, (middle + len(volume)) // 2, 0, len(volume) - 1)):
        if volume.slice(index).any():
            return index
    raise DataError(f"{path}: all samples are zero in the slices that were looked at; there is nothing to reconstruct.")


def _tensor(volume: Volume, index: int) -> Complex[Tensor, "coils y x"]:
    return torch.from_numpy(np.array(volume.slice(index), dtype=np.complex64))
