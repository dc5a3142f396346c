"""How noisy a scan is: from its noise scan, or from the outermost samples of k-space."""

import math

import numpy as np
from jaxtyping import Complex
from numpy.typing import NDArray
from torch import Tensor

from somamba.inference.raw.raw_scan import Noise
from somamba.inference.raw.sampling import SliceSampling

OUTER = 16
"""The outermost 1/16 of the rows and columns on each side, where hardly any signal is left."""
MEDIAN = math.sqrt(2 * math.log(2))
"""Median of the magnitude of complex noise whose parts have deviation 1 (Rayleigh)."""


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
