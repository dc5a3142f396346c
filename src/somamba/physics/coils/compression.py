"""Coil compression: many coils become few virtual ones that hold nearly all of the signal.

Neighbouring coils see much the same, so the samples of ``n`` coils lie close to a space of fewer dimensions. Its basis
is found from the calibration lines by a singular value decomposition (Buehrer et al., MRM 2007). The rows of the matrix
are orthonormal, so white noise stays white, and the image through the compressed maps is the same image.
"""

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from somamba.errors import InputError

MOST_COILS = 12
"""Coils that are kept unless another number is asked for; reconstructions of more coils are compressed to it."""


def compression_matrix(
    calibration: Complex[Tensor, "coils *samples"], n_coils: int
) -> tuple[Complex[Tensor, "virtual coils"], Float[Tensor, ""]]:
    """The mix of coils that keeps the most energy of the calibration samples.

    Args:
        calibration: Samples around the centre of k-space, of all coils.
        n_coils: How many virtual coils to keep; no more than there are coils.

    Returns:
        The matrix, its rows orthonormal and in the order of their energy, and the share of the energy that it keeps.

    Raises:
        InputError: no virtual coil is asked for, more than there are coils, or the calibration samples are all zero.
    """
    if not 1 <= n_coils <= len(calibration):
        raise InputError(f"{len(calibration)} coils can be compressed to 1 to {len(calibration)}, not to {n_coils}.")
    samples = calibration.flatten(start_dim=1)
    # The products of a few coils are exact enough in double precision, and far smaller than the samples.
    samples = (samples / samples.abs().max().clamp(min=torch.finfo(samples.real.dtype).tiny)).to(torch.complex128)
    energies, mixes = torch.linalg.eigh(samples @ samples.mH)
    if not float(energies[-1]) > 0:
        raise InputError("The calibration samples are all zero, so there is nothing to compress the coils by.")
    energies, mixes = energies.flip(0).clamp(min=0), mixes.flip(1)
    kept = energies[:n_coils].sum() / energies.sum()
    return mixes[:, :n_coils].mH.to(calibration.dtype), kept.to(calibration.real.dtype)


def compress(
    matrix: Complex[Tensor, "virtual coils"], coils: Complex[Tensor, "coils *rest"]
) -> Complex[Tensor, "virtual *rest"]:
    """The virtual coils of k-space, of coil images or of maps."""
    return (matrix @ coils.flatten(start_dim=1)).unflatten(1, coils.shape[1:])
