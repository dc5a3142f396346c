"""NumPy files: one array (.npy), or an archive (.npz) with ``kspace`` and perhaps ``mask`` and coil maps."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.reading import FileInfo, inspect, read
from somamba.raw.arrays import StoredArray, open_array, stored_array
from somamba.raw.layout import Choices
from somamba.raw.raw_scan import RawScan

MAPS_KEYS = ("sens_maps", "sensitivity_maps", "sensitivity_map", "coil_maps", "csm", "smaps", "maps")
TRAJECTORY_KEYS = ("traj", "trajectory", "dcf")


def open_npy(path: Path, choices: Choices) -> RawScan:
    """The array of a .npy file."""
    array = stored_array(path, "array", inspect(path).arrays["array"])
    return open_array(array, choices, format_name="NumPy array (.npy)")


def open_npz(path: Path, choices: Choices) -> RawScan:
    """An archive: ``kspace``, or its only complex array; ``mask`` and coil maps are used if they are there."""
    contents = inspect(path)
    refuse_trajectories(contents)
    name = _kspace_name(contents)
    scan = open_array(
        stored_array(path, name, contents.arrays[name]),
        choices,
        format_name="NumPy archive (.npz)",
        mask=read_mask(contents),
        maps=maps_within(contents),
    )
    return replace(scan, notes=(*scan.notes, *unused_masks(contents)))


def refuse_trajectories(contents: FileInfo) -> None:
    """Refuse a file with a trajectory: only Cartesian k-space is reconstructed."""
    if found := [key for key in TRAJECTORY_KEYS if key in contents.arrays]:
        raise DataError(
            f"{contents.path}: it holds {found[0]!r}, so its samples do not lie on a grid (radial, spiral). Only "
            "Cartesian k-space is read: regrid it first, for example with BART: "
            "bart nufft -i traj ksp img; bart fft -u 3 img grid."
        )


def read_mask(contents: FileInfo) -> NDArray[np.bool_] | None:
    """The array ``mask`` of a file, without axes of length 1.

    Raises:
        DataError: the file has a mask that must not be read: without it, the samples would be misunderstood.
    """
    if "mask" not in contents.arrays:
        return None
    mask = np.squeeze(read(contents.path, "mask", 0, contents.arrays["mask"].shape[0]))
    if mask.ndim not in (1, 2):
        shape = contents.arrays["mask"].shape
        raise DataError(f"{contents.path}: 'mask' has shape {shape}; it must be (x,) or (y, x) of its k-space.")
    if len(np.unique(mask[mask != 0])) > 1:
        raise DataError(
            f"{contents.path}: 'mask' must be 0 where nothing was acquired, and have one other value; it has several. "
            "Weights and probabilities are no mask."
        )
    return mask != 0


def unused_masks(contents: FileInfo) -> list[str]:
    """A note for every member whose name says that it is a mask, and which is not read as one."""
    others = [name for name in (*contents.arrays, *contents.refused) if "mask" in name.lower() and name != "mask"]
    return [f"It holds {name!r}, which was not used: the mask of the samples is called 'mask'." for name in others]


def maps_within(contents: FileInfo) -> StoredArray | None:
    """Coil maps under one of the names in use."""
    # All of them are looked for, so that a refused one is not passed over for another.
    found = [key for key in MAPS_KEYS if key in contents.arrays]
    if not found:
        return None
    info = contents.array(found[0], axes=len(contents.arrays[found[0]].shape), kinds="c")
    return stored_array(contents.path, found[0], info)


def _kspace_name(contents: FileInfo) -> str:
    if "kspace" in contents.arrays:
        return "kspace"
    found = [name for name, info in contents.arrays.items() if info.dtype.kind == "c" and name not in MAPS_KEYS]
    contents.check_nothing_refused("k-space")
    if len(found) == 1:
        return found[0]
    raise DataError(
        f"{contents.path}: no array 'kspace'; found {', '.join(contents.arrays) or 'no arrays'}. "
        "Save it with numpy.savez(path, kspace=...)."
    )
