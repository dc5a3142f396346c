"""NumPy files: one array (.npy), or an archive (.npz) with ``kspace`` and perhaps ``mask`` and coil maps."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Volume
from somamba.errors import DataError
from somamba.files.reading import ArrayInfo, FileInfo, inspect, read
from somamba.inference.raw.arrays import MAPS_KEYS, TRAJECTORY_KEYS, Stored, raw_scan_from, stored_volume
from somamba.inference.raw.choices import Choices
from somamba.inference.raw.raw_scan import RawScan

USUAL = {2: ("y", "x"), 3: ("coils", "y", "x"), 4: ("slices", "coils", "y", "x")}
MOST_COILS = 64
"""With more than this, three axes are taken for (slices, y, x): few receivers have more coils."""


def open_npy(path: Path, choices: Choices) -> RawScan:
    """A single array."""
    return _open(inspect(path), "NumPy array (.npy)", "array", choices)


def open_npz(path: Path, choices: Choices) -> RawScan:
    """An archive: ``kspace``, or its only complex array; ``mask`` and coil maps are used where they are there."""
    contents = inspect(path)
    refuse_trajectories(contents)
    return _open(contents, "NumPy archive (.npz)", _kspace_name(contents), choices)


def refuse_trajectories(contents: FileInfo) -> None:
    """Only Cartesian k-space is reconstructed."""
    if found := [key for key in TRAJECTORY_KEYS if key in contents.arrays]:
        raise DataError(
            f"{contents.path}: it holds {found[0]!r}, so its samples do not lie on a grid (radial, spiral). Only "
            "Cartesian k-space is read: regrid it first, for example with BART: "
            "bart nufft -i traj ksp img; bart fft -u 3 img grid."
        )


def read_mask(contents: FileInfo, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """The array ``mask`` of a file as (x,) or (y, x)."""
    if "mask" not in contents.arrays:
        return None
    info = contents.arrays["mask"]
    mask = np.squeeze(read(contents.path, "mask", 0, info.shape[0]))
    if mask.shape not in (shape[-1:], shape[-2:]):
        raise DataError(
            f"{contents.path}: 'mask' has shape {info.shape}; k-space {shape} needs {shape[-1:]} or {shape[-2:]}."
        )
    return mask != 0


def maps_within(contents: FileInfo) -> Volume | None:
    """Coil maps under one of the names in use."""
    for key in MAPS_KEYS:
        if key in contents.arrays:
            return maps_volume(contents.path, key, contents.array(key, axes=len(contents.arrays[key].shape), kinds="c"))
    return None


def maps_volume(path: Path, name: str, info: ArrayInfo) -> Volume:
    """Coil maps (coils, y, x) or (slices, coils, y, x)."""
    if info.dtype.kind != "c" or len(info.shape) not in (3, 4):
        raise DataError(
            f"{path}: coil maps must be complex, (coils, y, x) or (slices, coils, y, x); {name!r} is {info.dtype} "
            f"{info.shape}."
        )
    return stored_volume(path, name, info, USUAL[len(info.shape)])


def _open(contents: FileInfo, format_name: str, name: str, choices: Choices) -> RawScan:
    path, info, notes = contents.path, contents.arrays[name], []
    shape = _grid_shape(path, name, info)
    axes = choices.axes or _usual_axes(path, shape)
    if len(axes) != len(shape):
        raise DataError(
            f"{path}: {name!r} has {len(shape)} axes, {shape}, but {len(axes)} are named: {', '.join(axes)}."
        )
    if choices.axes is None:
        notes.append(f"Its axes {shape} were taken for ({', '.join(axes)}); --axes says otherwise.")
    volume = stored_volume(path, name, info, axes)
    mask = read_mask(contents, volume.shape)
    if mask is not None:
        notes.append("Its 'mask' was applied.")
    stored = Stored(
        path=path,
        format=format_name,
        volume=volume,
        centred=choices.centred,
        may_be_rolled=True,
        mask=mask,
        maps=maps_within(contents),
        notes=tuple(notes),
    )
    return raw_scan_from(stored)


def _grid_shape(path: Path, name: str, info: ArrayInfo) -> tuple[int, ...]:
    """The shape without an axis of real and imaginary parts."""
    if info.dtype.kind == "c":
        return info.shape
    if info.dtype.kind == "f" and info.shape[-1] == 2 and len(info.shape) > 2:
        return info.shape[:-1]
    raise DataError(
        f"{path}: {name!r} is {info.dtype} {info.shape}. K-space is complex, or has a last axis of two for real and "
        "imaginary parts. Images without k-space are read as NIfTI (.nii.gz), and k-space is simulated from them."
    )


def _usual_axes(path: Path, shape: tuple[int, ...]) -> tuple[str, ...]:
    if len(shape) == 3 and shape[0] > MOST_COILS:
        return "slices", "y", "x"
    if len(shape) not in USUAL:
        raise DataError(f"{path}: k-space has 2 to 4 axes (slices, coils, y, x), this has shape {shape}.")
    return USUAL[len(shape)]


def _kspace_name(contents: FileInfo) -> str:
    if "kspace" in contents.arrays:
        return "kspace"
    found = [name for name, info in contents.arrays.items() if info.dtype.kind == "c" and name not in MAPS_KEYS]
    if len(found) == 1:
        return found[0]
    raise DataError(
        f"{contents.path}: no array 'kspace'; found {', '.join(contents.arrays) or 'no arrays'}. "
        "Save it with numpy.savez(path, kspace=...)."
    )
