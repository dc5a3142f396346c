"""How noisy a scan is, and prewhitening: coils are mixed so that their noise is independent and alike.

The noise comes from a noise scan, or from the outermost samples of k-space. After prewhitening a coil of strong noise
counts less, and noise that neighbouring coils share counts once. K-space, calibration and coil maps are mixed alike,
so they still belong together.
"""

import math
from dataclasses import replace

import numpy as np
from jaxtyping import Complex
from numpy.typing import NDArray
from torch import Tensor

from somamba.files.reading import Volume
from somamba.raw.raw_scan import Noise, RawScan
from somamba.raw.sampling import SliceSampling

OUTER = 16
"""The outermost 1/16 of the rows and columns on each side, where hardly any signal is left."""
MEDIAN = math.sqrt(2 * math.log(2))
"""Median of the magnitude of complex noise whose parts have deviation 1 (Rayleigh)."""
LEAST = 1e-6
"""Smallest noise power of any mixture of coils, relative to the largest: below it, it was not measured."""
NOTE = "Coils were prewhitened by the noise scan."
SINGULAR = (
    "Coils were not prewhitened: their noise covariance is singular, as with a coil that is switched off or a noise "
    "scan of fewer samples than coils."
)


def noise_of_scan(samples: NDArray[np.complex64], factor: float) -> Noise | None:
    """The noise of a noise scan (coils, samples), scaled by the ratio of bandwidths; None if all samples are zero."""
    values = samples.astype(np.complex128)
    covariance = factor * (values @ values.conj().T) / values.shape[1]
    deviation = math.sqrt(float(np.diag(covariance).real.mean()) / 2)
    return Noise(deviation=deviation, source="noise scan", covariance=covariance) if deviation > 0 else None


def noise_of_edges(kspace: Complex[Tensor, "coils y x"], sampling: SliceSampling) -> Noise | None:
    """An upper bound of the noise: the median over the corners of what was acquired, so that edges count little."""
    height, width = sampling.span.shape
    outer_rows, outer_columns = max(1, height // OUTER), max(1, width // OUTER)
    inside = kspace[:, sampling.span.rows, sampling.span.columns]
    left_and_right = [inside[:, :, :outer_columns], inside[:, :, -outer_columns:]]
    corners = [part for side in left_and_right for part in (side[:, :outer_rows], side[:, -outer_rows:])]
    found = np.concatenate([part.abs().flatten().numpy() for part in corners])
    found = found[found > 0]
    if found.size == 0:
        return None
    return Noise(deviation=float(np.median(found)) / MEDIAN, source="outermost samples, at most")


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
