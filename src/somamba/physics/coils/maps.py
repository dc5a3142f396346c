"""Coil sensitivity maps from the fully acquired centre of k-space, and the two ways to merge coil images.

`espirit` follows Uecker et al. (MRM 2014). Patches of k-space span a small space; projecting every patch onto it and
averaging is a convolution that leaves k-space as it is. In the image that convolution is one matrix (coils x coils) at
every pixel, so the vector of sensitivities there is its eigenvector of eigenvalue 1.
"""

from typing import NamedTuple

import torch
from einops import rearrange
from jaxtyping import Complex, Float
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.coils.eigenvectors import APART, Offsets, leading_eigenvectors, second_eigenvectors
from somamba.physics.coils.folds import folds_over
from somamba.physics.fourier import check_precision, ifft2c
from somamba.shapes import CoilImages, Image

THRESHOLD = 0.001**0.5
"""Singular values of the patches, relative to the largest, below which they are noise: BART's default."""
ITERATIONS = 30
"""Power iterations, BART's default."""


class Region(NamedTuple):
    """A rectangle of k-space."""

    rows: slice
    columns: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Its height and width."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start


def root_sum_of_squares(images: CoilImages) -> Float[Tensor, "batch 1 y x"]:
    """Merge coil images without maps: their magnitude, safe to differentiate where all coils are zero."""
    return torch.linalg.vector_norm(images, dim=1, keepdim=True)


def combine(images: CoilImages, maps: CoilImages) -> Image:
    """Merge coil images by their maps, in the least-squares sense: zero where no coil is sensitive."""
    energy = torch.linalg.vector_norm(maps, dim=1, keepdim=True).square()
    merged = (maps.conj() * images).sum(dim=1, keepdim=True)
    return merged / torch.where(energy > 0, energy, 1)


def calibration_region(kspace: Tensor) -> Region:
    """Find a fully acquired rectangle around the centre of k-space, from where the zeros are.

    It grows by one row or column at a time, on all four sides in turn, while what is added has no zeros.

    Raises:
        InputError: not k-space (batch, coils, y, x), or the centre itself was not acquired.
    """
    _check_kspace(kspace)
    sampled = (kspace != 0).any(dim=1).all(dim=0)
    top, left = sampled.shape[0] // 2, sampled.shape[1] // 2
    bottom, right = top + 1, left + 1
    if not bool(sampled[top, left]):
        raise InputError(
            f"The centre of k-space, sample ({top}, {left}), was not acquired, so there is nothing to calibrate from. "
            "Uncentred data must be shifted first: torch.fft.fftshift(kspace, dim=(-2, -1))."
        )
    grown = True
    while grown:
        grown = False
        if top > 0 and bool(sampled[top - 1, left:right].all()):
            top, grown = top - 1, True
        if bottom < sampled.shape[0] and bool(sampled[bottom, left:right].all()):
            bottom, grown = bottom + 1, True
        if left > 0 and bool(sampled[top:bottom, left - 1].all()):
            left, grown = left - 1, True
        if right < sampled.shape[1] and bool(sampled[top:bottom, right].all()):
            right, grown = right + 1, True
    return Region(slice(top, bottom), slice(left, right))


@torch.no_grad()
def espirit(
    kspace: Tensor,
    *,
    calibration_width: int = 24,
    kernel: int = 6,
    threshold: int | float = THRESHOLD,
    crop: int | float = 0.8,
    iterations: int = ITERATIONS,
) -> Tensor:
    """Estimate the first set of ESPIRiT maps; the defaults are those of BART's ``ecalib -m1``.

    The maps have unit norm over the coils where there is signal and are zero elsewhere. Their phase is such that the
    first principal component of the calibration data, taken as a virtual coil, is real and positive.

    Args:
        kspace: Complex (batch, coils, y, x), centred: whole, undersampled around a full centre, or a calibration scan
            padded with zeros to the size of the image.
        calibration_width: Rows and columns of the centre to use, fewer if fewer were acquired.
        kernel: Rows and columns of a patch.
        threshold: Singular values of the patches, relative to the largest, below which they are noise.
        crop: Pixels whose eigenvalue is lower have no signal.
        iterations: Power iterations, started from the coil images at low resolution.

    Returns:
        Maps (batch, coils, y, x).

    Raises:
        InputError: k-space that cannot be used, or a centre smaller than one patch.
    """
    maps, eigenvalues = uncropped_espirit(
        kspace, calibration_width=calibration_width, kernel=kernel, threshold=threshold, iterations=iterations
    )
    return torch.where(eigenvalues > crop, maps, 0)


@torch.no_grad()
def uncropped_espirit(
    kspace: Tensor,
    *,
    calibration_width: int = 24,
    kernel: int = 6,
    threshold: int | float = THRESHOLD,
    iterations: int = ITERATIONS,
) -> tuple[Tensor, Tensor]:
    """Estimate maps as `espirit` does, but for all pixels, also for those without signal.

    Args:
        kspace: As in `espirit`, and so are the other arguments.
        calibration_width: Rows and columns of the centre to use, fewer if fewer were acquired.
        kernel: Rows and columns of a patch.
        threshold: Singular values of the patches, relative to the largest, below which they are noise.
        iterations: Power iterations.

    Returns:
        Maps (batch, coils, y, x) and their eigenvalues (batch, 1, y, x). Both are NaN at a pixel of exact zeros.

    Raises:
        InputError: k-space that cannot be used, or a centre smaller than one patch.
    """
    region = _central(calibration_region(kspace), kspace.shape, calibration_width)
    if iterations < 1:
        raise InputError(f"iterations={iterations} estimates nothing; choose at least 1.")
    if not 0 <= threshold < 1:
        raise InputError(f"threshold={threshold:g} keeps no patch; it is relative to the largest: 0 <= threshold < 1.")
    _check_kernel(region, kernel)
    found = [_maps_of_slice(one, region, kernel, threshold, iterations) for one in kspace]
    return torch.stack([maps for maps, _ in found]), torch.stack([eigenvalues for _, eigenvalues in found])[:, None]


@torch.no_grad()
def espirit_sets(
    kspace: Complex[Tensor, "coils y x"], *, calibration_width: int = 24, kernel: int = 6, crop: int | float = 0.8
) -> Complex[Tensor, "sets coils y x"]:
    """Estimate one set of maps, as `espirit` does, or two if an object is larger than the field of view.

    What lies outside of the field of view is folded onto what lies inside, and the coils see both at one pixel. Then
    two eigenvalues are 1 there, and two images, one for each set, explain the samples (soft-SENSE).

    Args:
        kspace: Centred k-space of one slice.
        calibration_width: Rows and columns of the centre to use, fewer if fewer were acquired.
        kernel: Rows and columns of a patch.
        crop: Pixels whose eigenvalue is lower have no signal of that set.

    Returns:
        The maps of each set. At every pixel they have unit norm, or are zero, and the sets are orthogonal.

    Raises:
        InputError: k-space that cannot be used, or a centre smaller than one patch.
    """
    region = _central(calibration_region(kspace[None]), kspace[None].shape, calibration_width)
    _check_kernel(region, kernel)
    calibration, start = kspace[:, region.rows, region.columns], low_resolution(kspace, region)
    offsets = _patch_projection(calibration, kernel, THRESHOLD)
    first, eigenvalues = leading_eigenvectors(offsets, start, ITERATIONS)
    seen = eigenvalues > crop
    sets = [torch.where(seen, _aligned(first, calibration), 0)]
    _, coarse = second_eigenvectors(offsets, start, first, ITERATIONS, apart=APART)
    if folds_over(offsets, seen, coarse):
        second, eigenvalues = second_eigenvectors(offsets, start, first, ITERATIONS)
        sets.append(torch.where(seen & (eigenvalues > crop), _aligned(second, calibration), 0))
    return torch.stack(sets)


@torch.no_grad()
def explained_share(kspace: Complex[Tensor, "coils y x"], maps: Complex[Tensor, "*sets coils y x"]) -> float:
    """The share of the energy of the coil images at low resolution that maps can make: 1 if they belong to the scan.

    Args:
        kspace: Centred k-space of one slice with a fully acquired centre, not all zero there.
        maps: One set of maps, or several that are orthogonal at every pixel.

    Raises:
        InputError: the centre of k-space was not acquired.
    """
    images = low_resolution(kspace, calibration_region(kspace[None]))
    energy = maps.abs().square().sum(dim=-3)
    made = (maps.conj() * images).sum(dim=-3).abs().square() / torch.where(energy > 0, energy, 1)
    # In double precision, and first divided by the largest: squares of tiny samples vanish.
    return float(made.double().sum() / images.abs().double().square().sum())


def low_resolution(kspace: Complex[Tensor, "coils y x"], region: Region) -> Complex[Tensor, "coils y x"]:
    """Coil images of the calibration region alone, tapered against ringing.

    Args:
        kspace: Centred k-space of one slice.
        region: What `calibration_region` found.
    """
    height, width = region.shape
    taper = torch.outer(
        *(torch.hann_window(n + 2, periodic=False, device=kspace.device)[1:-1] for n in (height, width))
    )
    center = torch.zeros_like(kspace)
    center[:, region.rows, region.columns] = kspace[:, region.rows, region.columns] * taper
    return ifft2c(center)


def _maps_of_slice(
    kspace: Complex[Tensor, "coils y x"],
    region: Region,
    kernel: int,
    threshold: int | float,
    iterations: int,
) -> tuple[Complex[Tensor, "coils y x"], Float[Tensor, "y x"]]:
    calibration = kspace[:, region.rows, region.columns]
    offsets = _patch_projection(calibration, kernel, threshold)
    maps, eigenvalues = leading_eigenvectors(offsets, low_resolution(kspace, region), iterations)
    return _aligned(maps, calibration), eigenvalues


def _aligned(
    maps: Complex[Tensor, "coils y x"], calibration: Complex[Tensor, "coils rows columns"]
) -> Complex[Tensor, "coils y x"]:
    """The maps with the phase at which the virtual coil of the most energy is real and positive."""
    virtual = torch.einsum("c,cyx->yx", _principal_component(calibration).conj(), maps)
    return maps * torch.exp(-1j * virtual.angle())


def _check_kernel(region: Region, kernel: int) -> None:
    if kernel < 1 or min(region.shape) < kernel:
        raise InputError(
            f"The fully acquired centre to calibrate from is {region.shape[0]}x{region.shape[1]}, the kernel "
            f"{kernel}x{kernel}. Choose kernel from 1 to {min(region.shape)}, or acquire more of the centre."
        )


def _patch_projection(calibration: Complex[Tensor, "coils y x"], kernel: int, threshold: int | float) -> Offsets:
    """The averaged projection of patches as a convolution kernel, from each coil to each."""
    patches = calibration.unfold(1, kernel, 1).unfold(2, kernel, 1)
    matrix = rearrange(patches, "coils y x dy dx -> (y x) (coils dy dx)")
    _, strengths, basis = torch.linalg.svd(matrix, full_matrices=False)
    basis = basis[strengths > threshold * strengths[0]]
    n_coils = calibration.shape[0]
    projection = (basis.mT @ basis.conj()).reshape(n_coils, kernel, kernel, n_coils, kernel, kernel)
    offsets = calibration.new_zeros(n_coils, n_coils, 2 * kernel - 1, 2 * kernel - 1)
    for y in range(kernel):
        for x in range(kernel):
            offsets[:, :, y : y + kernel, x : x + kernel] += projection[:, y, x].flip(-2, -1)
    return offsets / kernel**2


def _principal_component(calibration: Complex[Tensor, "coils y x"]) -> Complex[Tensor, " coils"]:
    """The mix of coils with the most energy; its largest weight is real and positive."""
    component = torch.linalg.svd(calibration.flatten(start_dim=1), full_matrices=False).U[:, 0]
    return component * torch.exp(-1j * component[component.abs().argmax()].angle())


def _central(region: Region, shape: torch.Size, width: int) -> Region:
    """The part of a region that lies in a square of ``width`` around the centre."""
    return Region(
        *(
            slice(max(found.start, size // 2 - width // 2), min(found.stop, size // 2 + (width + 1) // 2))
            for found, size in zip(region, shape[-2:], strict=True)
        )
    )


def _check_kspace(kspace: Tensor) -> None:
    if kspace.ndim != 4 or kspace.numel() == 0:
        raise InputError(f"k-space must be (batch, coils, y, x), got {tuple(kspace.shape)}.")
    check_precision(kspace, "k-space")
    if not bool(torch.isfinite(kspace).all()):
        raise InputError("k-space must be finite to calibrate from, this one holds NaN or infinity.")
