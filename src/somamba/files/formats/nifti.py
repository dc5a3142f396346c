"""NIfTI-1 images for the reading process, plain or compressed by gzip."""

from typing import Any

import numpy as np
from nibabel.nifti1 import Nifti1Image
from numpy.typing import NDArray

from somamba.files.formats.kept_open import KEPT, identity
from somamba.files.formats.npy import PIECE_BYTES, Allocate
from somamba.files.formats.texts import Texts
from somamba.files.limits import RefusedError, check_array, check_rows, check_unpacking, n_bytes
from somamba.regular_files import check_regular

COMMENT, OURS = 6, b'{"somamba": '
"""The code of comments in NIfTI headers, and how ours start."""
FLOAT32 = np.dtype("<f4").newbyteorder("=")


class OpenNifti:
    """An image whose declared size was checked. Its file stays open, so that slices are unpacked once and in order."""

    def __init__(self, path: str) -> None:
        image: Any = Nifti1Image.from_filename(path, mmap=False, keep_file_open=True)
        self._image = image
        self.shape: tuple[int, ...] = tuple(int(length) for length in image.shape)
        dtype = image.get_data_dtype()
        check_array(self.shape, dtype)
        if dtype.kind == "c":
            raise RefusedError("complex NIfTI images are not magnitudes")
        declared, stored = n_bytes(self.shape, dtype.itemsize), check_regular(path).st_size
        if path.endswith(".gz"):
            check_unpacking(declared, stored)
        elif image.dataobj.offset + declared > stored:
            raise RefusedError(f"it declares {declared} bytes of voxels, the whole file has {stored}: it is cut short")

    def facts(self) -> dict[str, Any]:
        """The one array of the file, slices first, and its voxel size in the same order."""
        header = self._image.header
        return {
            "arrays": {"image": {"shape": list(self.shape[::-1]), "dtype": "<f4"}},
            "texts": self._texts().kept,
            "voxel": [float(zoom) for zoom in header.get_zooms()[::-1]],
            "affine": np.asarray(self._image.affine, dtype=float).tolist(),
        }

    def _texts(self) -> Texts:
        """The provenance that our own writer puts into a comment; other comments may name patients."""
        texts = Texts()
        comments = (bytes(e.get_content()) for e in self._image.header.extensions if e.get_code() == COMMENT)
        ours = next((comment for comment in comments if comment.startswith(OURS)), None)
        if ours is not None:
            texts.keep("provenance", ours.rstrip(b"\0"))
        return texts

    def read(self, start: int, stop: int, allocate: Allocate) -> None:
        """Read slices as float32, axes reversed from NIfTI's ``(x, y, z)`` to ``(z, y, x)``.

        Args:
            start: The first slice.
            stop: The slice after the last one.
            allocate: Gives the memory for the answer.
        """
        check_rows(self.shape[::-1], FLOAT32.itemsize, start, stop)
        images = allocate((stop - start, *self.shape[-2::-1]), FLOAT32)
        self._fill(images, start, ())

    def _fill(self, images: NDArray[Any], first: int, fixed: tuple[int, ...]) -> None:
        """Read in pieces: integers are scaled in double precision on the way to float32.

        Args:
            images: Where the values go.
            first: The place of ``images[0]`` along its axis.
            fixed: Places along the axes that come after it in NIfTI's order.
        """
        if images[0].nbytes > PIECE_BYTES and images.ndim > 2:
            for place, image in enumerate(images, first):
                self._fill(image, 0, (place, *fixed))
            return
        step = max(1, PIECE_BYTES // max(1, images[0].nbytes))
        for start in range(0, len(images), step):
            stop = min(start + step, len(images))
            piece = self._image.dataobj[(..., slice(first + start, first + stop), *fixed)]
            images[start:stop] = np.asarray(piece).T

    def close(self) -> None:
        """Drop the image, which closes its file."""
        del self._image


def inspect_nifti(path: str) -> dict[str, Any]:
    """What the header declares."""
    return _opened(path).facts()


def read_nifti(path: str, name: str, start: int, stop: int, allocate: Allocate) -> None:
    """Read slices of the one array.

    Args:
        path: The NIfTI file.
        name: The name of its array.
        start: The first slice.
        stop: The slice after the last one.
        allocate: Gives the memory for the answer.
    """
    if name != "image":
        raise RefusedError(f"a NIfTI file has one array, 'image', not {name!r}")
    _opened(path).read(start, stop, allocate)


def _opened(path: str) -> OpenNifti:
    return KEPT.get(identity(path), lambda: OpenNifti(path))
