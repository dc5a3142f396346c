"""Arrays that a Python caller has in memory, as a `RawScan`: understood exactly as the same array in a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import ConfigError, DataError, InputError
from somamba.raw.arrays import StoredArray, open_array, single_precision
from somamba.raw.layout import Choices
from somamba.raw.noise import noise_of_scan, whitening_matrix
from somamba.raw.raw_scan import Noise, RawScan


def raw_scan_of(
    kspace: object,
    *,
    maps: object = None,
    mask: object = None,
    noise: object = None,
    axes: object = None,
    centred: Any = None,
) -> RawScan:
    """Make a raw scan of arrays.

    Args:
        kspace: Complex, NumPy or torch, of two to four axes; zero where nothing was acquired.
        maps: Coil maps in the order of the k-space's axes, or (coils, y, x), or (slices, coils, y, x).
        mask: 1 where a sample was acquired, (x,) or (y, x); None finds it from where k-space is zero.
        noise: Samples of a noise scan, (coils, samples).
        axes: The axes of ``kspace`` in their order, from slices, coils, y, x; None finds them.
        centred: True: zero frequency and object are in the middle. False: the zero frequency is the first sample.
            None finds it from where the energy is.

    Raises:
        InputError: arrays that are not k-space, or do not fit each other; it says what to do.
        ConfigError: axes that are not understood.
    """
    if axes is not None and not (isinstance(axes, Sequence) and all(isinstance(axis, str) for axis in axes)):
        raise ConfigError(f"axes={axes!r}; name the axes of the array in their order, such as ('y', 'x', 'coils').")
    choices = Choices(axes=None if axes is None else tuple(axes), centred=centred)
    try:
        scan = open_array(
            _stored("kspace", kspace),
            choices,
            format_name="array in memory",
            mask=None if mask is None else _mask(mask),
            maps=None if maps is None else _stored("maps", maps),
        )
    except DataError as error:
        raise InputError(str(error)) from None
    return scan if noise is None else replace(scan, noise=_noise(noise, scan.coils))


def plain_array(value: object, name: str) -> NDArray[Any]:
    """An argument as a NumPy array in the machine's own byte order; what is not an array of numbers is refused."""
    if not hasattr(value, "__array__"):
        raise InputError(
            f"{name} must be a NumPy array or a torch tensor, got {type(value).__name__}. numpy.asarray makes one of "
            "nested lists."
        )
    try:
        if isinstance(value, Tensor):
            value = value.detach().resolve_conj().resolve_neg().cpu().numpy()
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        raise InputError(f"{name} cannot be read as a NumPy array ({error}).") from error
    if array.dtype.kind not in "biufc":
        raise InputError(f"{name} must hold numbers, got an array of type {array.dtype}.")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _stored(name: str, value: object) -> StoredArray:
    array = plain_array(value, name)
    if array.dtype.kind == "f" and array.ndim > 2 and array.shape[-1] == 2:
        array = array[..., 0] + 1j * array[..., 1]
    if array.dtype.kind != "c":
        raise InputError(
            f"{name} must be complex, or have a last axis of two for real and imaginary parts, got {array.dtype} of "
            f"shape {array.shape}."
        )
    if array.size == 0 or array.ndim < 2:
        raise InputError(
            f"{name} of shape {array.shape} has no slice in it: k-space is (y, x), (coils, y, x) or (slices, coils, "
            "y, x)."
        )
    # A copy, so that nothing that is done to the slices reaches the caller's array.
    values = single_precision(array, Path(name), name).copy()
    return StoredArray(path=Path(name), name=name, shape=values.shape, read=lambda start, stop: values[start:stop])


def _mask(value: object) -> NDArray[np.bool_]:
    mask = np.squeeze(plain_array(value, "mask"))
    if mask.ndim not in (1, 2) or not np.isin(mask, (0, 1)).all():
        raise InputError(
            f"A mask must be (x,) or (y, x) and hold 0 and 1, with 1 where a sample was acquired (mask != 0 marks "
            f"those); got shape {mask.shape}."
        )
    return mask == 1


def _noise(value: object, coils: int) -> Noise:
    samples = plain_array(value, "noise")
    if samples.ndim != 2 or len(samples) != coils or samples.dtype.kind != "c":
        raise InputError(
            f"noise must be (coils, samples) with {coils} coils, complex, got {samples.dtype} of shape {samples.shape}."
        )
    noise = noise_of_scan(samples.astype(np.complex64), 1.0) if np.isfinite(samples).all() else None
    if noise is None or noise.covariance is None or (coils > 1 and whitening_matrix(noise.covariance) is None):
        raise InputError(
            f"The noise covariance of {coils} coils is singular or not finite in {samples.shape[1]} samples. Give more "
            "samples than coils, and leave out a coil that is switched off."
        )
    return noise
