"""Prewhitening: coils are mixed so that their noise is independent and alike, by the covariance of a noise scan.

A coil of strong noise counts less then, and noise that neighbouring coils share counts once. K-space, calibration
and coil maps are mixed alike, so they still belong together.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from somamba.data.case import Volume
from somamba.inference.raw.raw_scan import Noise, RawScan

LEAST = 1e-6
"""Smallest noise power of any mixture of coils, relative to the largest: below it, it was not measured."""
NOTE = "Coils were prewhitened by the noise scan."
SINGULAR = (
    "Coils were not prewhitened: their noise covariance is singular, as with a coil that is switched off or a noise "
    "scan of fewer samples than coils."
)


def whitening_matrix(covariance: NDArray[np.complex128]) -> NDArray[np.complex128] | None:
    """``W`` with ``W covariance W^H = s I``, s the mean noise power of the coils; None if the covariance is singular.

    The mean noise power is kept, so samples keep their units.
    """
    power = np.linalg.eigvalsh(covariance)
    if not power[0] > LEAST * power[-1]:
        return None
    return np.sqrt(power.mean()) * np.linalg.inv(np.linalg.cholesky(covariance))


def whitened(scan: RawScan) -> RawScan:
    """The scan with whitened coils; unchanged if it has one coil or no noise scan."""
    if scan.coils == 1 or scan.noise is None or scan.noise.covariance is None:
        return scan
    matrix = whitening_matrix(scan.noise.covariance)
    if matrix is None:
        return replace(scan, notes=(*scan.notes, SINGULAR))
    power = 2 * scan.noise.deviation**2
    noise = Noise(
        deviation=scan.noise.deviation,
        source=f"{scan.noise.source}, prewhitened",
        covariance=power * np.eye(scan.coils, dtype=np.complex128),
    )
    return replace(
        scan,
        volume=_mixed(scan.volume, matrix),
        coil_maps=None if scan.coil_maps is None else _mixed(scan.coil_maps, matrix),
        reference=None if scan.reference is None else _mixed(scan.reference, matrix),
        noise=noise,
        notes=(*scan.notes, NOTE),
    )


def mix_coils(matrix: NDArray[np.complex128], samples: NDArray[np.complex64]) -> NDArray[np.complex64]:
    """``(..., coils, y, x)`` with every sample's coils multiplied by a matrix; what is zero in all coils stays zero."""
    flat = samples.reshape(*samples.shape[:-2], -1)
    return (matrix.astype(np.complex64) @ flat).reshape(samples.shape)


def _mixed(volume: Volume, matrix: NDArray[np.complex128]) -> Volume:
    return replace(
        volume, read=lambda start, stop: mix_coils(matrix, np.asarray(volume.read(start, stop), np.complex64))
    )
