"""What every reconstruction of a scan becomes, and all that a writer has to know."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from somamba.errors import InputError
from somamba.inference.overview import overview, png

AGREEMENT = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Reconstruction:
    """One reconstructed scan: its pictures, where they lie, and how they came about.

    Repeated scans of the same slices are numbered one volume after the other, as in `RawScan`.
    """

    name: str
    """The stem of the input's name."""
    images: NDArray[np.complex64]
    """``(slices, rows, columns)``: pictures, in the units of the input's k-space under the centred orthonormal FFT."""
    volumes: int = 1
    """How often the stack of slices was scanned: frames, echoes, repetitions."""
    voxel: tuple[float, float, float] | None = None
    """Size in mm along slices, rows and columns."""
    affine: NDArray[np.float64] | None = None
    """The map from column, row and slice to mm, right, anterior, superior: the affine of a NIfTI file."""
    provenance: Mapping[str, Any]
    """How it came about, in plain values that JSON can hold."""
    study: Mapping[str, str] = field(default_factory=dict)
    """Patient and study by DICOM keyword, from a template; only DICOM files hold them."""

    def __post_init__(self) -> None:
        images = self.images
        if images.ndim != 3 or images.size == 0 or images.dtype != np.complex64:
            raise InputError(
                f"{self.name}: images must be (slices, rows, columns) complex64, got {images.shape} {images.dtype}."
            )
        if self.volumes < 1 or len(images) % self.volumes:
            raise InputError(f"{self.name}: {len(images)} slices cannot be divided into {self.volumes} volumes.")
        bad = [index for index, image in enumerate(images) if not np.isfinite(image).all()]
        if bad:
            raise InputError(
                f"{self.name}: slice {bad[0]} holds NaN or infinity ({len(bad)} of {len(images)} slices do). Look at "
                "its k-space for values that stick out; if there are none, the model does not suit this scan."
            )
        if self.voxel is not None and not all(0 < size < np.inf for size in self.voxel):
            raise InputError(f"{self.name}: a voxel must have a size above 0 mm, got {self.voxel}.")
        if self.affine is not None and not _spans(self.affine):
            raise InputError(f"{self.name}: its affine must be a finite 4 x 4 matrix of full rank, got {self.affine}.")
        try:
            json.dumps(self.provenance, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name}: JSON cannot hold its provenance ({error}).") from error

    @property
    def magnitudes(self) -> NDArray[np.float32]:
        """The magnitudes of the images, ``(slices, rows, columns)`` float32."""
        return np.abs(self.images)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about how the input was understood."""
        return tuple(self.provenance.get("notes", ()))

    def _repr_png_(self) -> bytes:
        """The slices of the first volume, as a notebook shows them."""
        return png(overview(self.magnitudes[: self.stack])[0])

    def __repr__(self) -> str:
        """Return sizes and names, without the pixels."""
        slices, rows, columns = self.images.shape
        return f"Reconstruction({self.name!r}, {slices} x {rows} x {columns}, {self.provenance.get('model', '?')})"

    @property
    def stack(self) -> int:
        """Slices of one volume."""
        return len(self.images) // self.volumes


def _spans(affine: NDArray[np.float64]) -> bool:
    finite = affine.shape == (4, 4) and bool(np.isfinite(affine).all())
    return finite and bool(abs(np.linalg.det(affine[:3, :3])) > 0)


class Placement(NamedTuple):
    """What a writer may rely on."""

    spacing: tuple[float, float, float] | None
    """Distances in mm between slices, rows and columns; the first one includes gaps if they are known."""
    affine: NDArray[np.float64] | None
    """The affine, if its sizes are those of the voxels and its axes are perpendicular: some files, ACDC's among them,
    have an affine that was never filled in beside the true size of their voxels."""


def placement(reconstruction: Reconstruction) -> Placement:
    """Return the spacing and the affine of a reconstruction, each only if it can be relied on."""
    voxel, affine = reconstruction.voxel, reconstruction.affine
    if affine is None:
        return Placement(voxel, None)
    sizes = np.linalg.norm(affine[:3, :3], axis=0)
    # Between slices there may be gaps, so only sizes within the slice can contradict each other.
    if voxel is not None and not np.allclose(sizes[:2], voxel[:0:-1], rtol=AGREEMENT):
        return Placement(voxel, None)
    directions = affine[:3, :3] / sizes
    square = np.allclose(directions.T @ directions, np.eye(3), atol=AGREEMENT)
    return Placement((float(sizes[2]), float(sizes[1]), float(sizes[0])), affine if square else None)
