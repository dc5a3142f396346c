"""One scan of many, as a scanner gives it: coil maps are estimated from what was measured.

As `augmentation` draws scans, and besides: up to dozens of coils that are compressed, maps by ESPIRiT from the
calibration lines with their noise and their limits, k-space that was acquired in part, a field of view that is too
small. The target is the whole scan without noise, merged by the same estimated maps: what a reconstruction is compared
with.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Complex
from numpy.typing import NDArray
from torch import Tensor

from somamba.data.batch import Sample
from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation import bounded_config
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.simulation.placement import View, at_resolution, dressed, placed
from somamba.data.simulation.scanner import complex_noise, generator, smooth_phase, uneven_phase, varied_coils
from somamba.data.simulation.seeds import Draw, mask_for
from somamba.errors import DataError
from somamba.physics.coils.coarse_maps import coarse_espirit
from somamba.physics.coils.compression import compress, compression_matrix
from somamba.physics.coils.maps import combine
from somamba.physics.encoding import encoding
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.scale import brightness, zero_filled_scale

FEWEST_LINES = 8
"""Calibration lines that maps are estimated from at least."""
MOST_OF_ALL = 0.85
"""The largest share of the acquired lines that is for calibration."""
CALIBRATION = 24
"""Rows and columns that ESPIRiT looks at, as at inference."""
MULTIPLE = 8
"""Rows and columns of a scan are multiples of this."""
WIDER = 1.5
"""Width of what is simulated when the object does not fit, in fields of view."""
ATTEMPTS = 5
"""So many scans are drawn until one has maps: a few pixels of an object are too little to estimate them from."""

CoilImages = Complex[Tensor, "coils y x"]


@dataclass(frozen=True)
class Whole:
    """A whole scan without noise."""

    kspace: CoilImages
    acquired: Bool[Tensor, "y x"]
    """What the scanner can acquire; the rest of k-space is zero."""


def scanned(values: NDArray[Any], config: DataConfig, augmentation: Augmentation, draw: Draw) -> Sample:
    """Draw a scan of one magnitude image, measure it, and estimate its coil maps.

    Args:
        values: The image.
        config: Dataset and protocol.
        augmentation: Bounds of what is drawn.
        draw: Names everything that is drawn.

    Raises:
        DataError: no drawn scan of this image has enough signal to estimate coil maps from.
    """
    image = torch.from_numpy(np.array(values, dtype=np.float32))
    for attempt in range(ATTEMPTS):
        # Another attempt has other names for all of its draws.
        sample = _attempt(image, config, augmentation, draw if attempt == 0 else replace(draw, epoch=-attempt - 1))
        if sample is not None:
            return replace(sample, case_id=draw.case_id, slice=draw.slice)
    raise DataError(
        f"Case {draw.case_id!r}, slice {draw.slice}: no coil maps can be estimated; the slice shows nothing."
    )


def _attempt(image: Tensor, config: DataConfig, augmentation: Augmentation, draw: Draw) -> Sample | None:
    numbers = generator(draw.of("scan"))
    rows, columns = (MULTIPLE * round(numbers.uniform(*augmentation.size) / MULTIPLE) for _ in range(2))
    config = scan_config(config, augmentation, columns, numbers)
    whole = whole_scan(image, (rows, columns), config, augmentation, draw)
    # Rows that a readout never reaches count as measured zeros, as at inference; columns count as not acquired.
    mask = mask_for((rows, columns), config, draw).tensor()[0] & whole.acquired.any(dim=0)
    full, measured = _compressed(whole, mask, config, augmentation, draw)
    maps = coarse_espirit(measured[None], calibration_width=CALIBRATION)
    target = combine(ifft2c(full)[None], maps)[0].abs()
    scale = zero_filled_scale(measured[None], encoding(mask[None], maps))
    if not abs(scale) > 0:
        return None
    return Sample(
        kspace=measured / scale,
        mask=mask,
        maps=maps[0] if config.combine == "sense" else None,
        target=target / abs(scale),
        scale=abs(scale),
        case_id=draw.case_id,
        slice=draw.slice,
    )


def scan_config(config: DataConfig, augmentation: Augmentation, width: int, numbers: np.random.Generator) -> DataConfig:
    """The configuration of one scan of so many columns; accelerations are equally likely on a logarithmic scale.

    Args:
        config: What is not drawn.
        augmentation: The bounds.
        width: The number of columns.
        numbers: Draws the numbers.
    """
    acceleration = math.exp(numbers.uniform(*np.log(augmentation.acceleration)))
    most = int(MOST_OF_ALL * width / acceleration)
    lines = max(FEWEST_LINES, min(int(numbers.integers(*augmentation.calibration, endpoint=True)), most))
    return bounded_config(config, augmentation, numbers, acceleration=acceleration, center_fraction=lines / width)


def whole_scan(
    image: Tensor, shape: tuple[int, int], config: DataConfig, augmentation: Augmentation, draw: Draw
) -> Whole:
    """Put the object into the scanner and acquire all of k-space, without noise.

    Args:
        image: A magnitude image of any size.
        shape: Rows and columns of the scan.
        config: The number of coils, and the dataset, which knows whether the image shows a brain without its head.
        augmentation: How often k-space is padded, the object folds over, and a brain gets a head.
        draw: Names everything that is drawn.
    """
    numbers = generator(draw.of("anatomy"))
    stripped = config.entry.stripped(draw.case_id)
    folds = numbers.uniform() < augmentation.folded
    width = 2 * round(WIDER * shape[1] / 2) if folds else shape[1]
    fill = numbers.uniform((0.7, 0.7), (1.02, 0.95)) * (0.8 if stripped else 1.0)
    if folds:
        fill[1] = numbers.uniform(1.1, 1.4) / WIDER
    view = View((shape[0], width), (float(fill[0]), float(fill[1])))
    if augmentation.anatomy:
        shares = {"scalp": augmentation.scalp, "fat": augmentation.fat}
        fine = dressed(placed(image, view, numbers), numbers, stripped=stripped, **shares)
    else:
        fine = placed(image, view, numbers).to(torch.complex64)
    size = (fine.shape[0], fine.shape[1])
    fine = fine * smooth_phase(size, seed=draw.of("phase")) * uneven_phase(size, augmentation.unevenness, numbers)
    coils = varied_coils(config.n_coils, view.shape, seed=draw.of("coils"))
    energy = (coils.real.square() + coils.imag.square()).sum(dim=0)
    # Coils shade the image; vendors correct for it more or less.
    coils = coils * (energy / energy.max()) ** (numbers.uniform(0, 1) / 2) * energy.rsqrt()
    images = coils * at_resolution(fine, view.shape)
    if folds:
        images = folded(images, shape[1])
    acquired = torch.ones(shape, dtype=torch.bool)
    if numbers.uniform() < augmentation.padded:
        acquired = partly(shape, numbers)
    return Whole(torch.where(acquired, fft2c(images), 0), acquired)


def folded(images: Complex[Tensor, "coils y wide"], width: int) -> CoilImages:
    """What a field of view of ``width`` columns shows of wider images: what lies outside of it on either side, too."""
    before = width - images.shape[-1] // 2
    after = 2 * width - images.shape[-1] - before
    wide = torch.nn.functional.pad(images, (before, after))
    first, *_, last = wide.split(width // 2, dim=-1)
    middle = wide[..., width // 2 : width // 2 + width].clone()
    middle[..., width - first.shape[-1] :] += first
    middle[..., : last.shape[-1]] += last
    return middle


def partly(shape: tuple[int, int], numbers: np.random.Generator) -> Bool[Tensor, "y x"]:
    """Rows, columns or both of which only the inner ones were acquired; sometimes one end is missing alone."""
    axes = [(True, False), (False, True), (True, True)][numbers.integers(3)]
    acquired = torch.ones(shape, dtype=torch.bool)
    for axis, chosen in enumerate(axes):
        if not chosen:
            continue
        ends = [round(shape[axis] * numbers.uniform(0.02, 0.18))] * 2
        if numbers.uniform() < 0.3:
            ends[numbers.integers(2)] = 0
        inner = torch.zeros(shape[axis], dtype=torch.bool)
        inner[ends[0] : shape[axis] - ends[1]] = True
        acquired &= inner[:, None] if axis == 0 else inner
    return acquired


def _compressed(
    whole: Whole, mask: Bool[Tensor, "1 1 x"], config: DataConfig, augmentation: Augmentation, draw: Draw
) -> tuple[CoilImages, CoilImages]:
    """The whole scan and the measured samples with their noise, of as many coils as are kept."""
    n_coils, height, width = whole.kspace.shape
    columns = mask[0, 0]
    lit = ifft2c(whole.kspace)
    deviation = brightness((lit.real.square() + lit.imag.square()).sum(dim=0).sqrt()) / (config.snr or math.inf)
    noise = complex_noise((n_coils, height, int(columns.sum())), deviation, seed=draw.of("noise"))
    measured = torch.zeros_like(whole.kspace)
    measured[..., columns] = (whole.kspace[..., columns] + noise) * whole.acquired[:, columns]
    if n_coils <= augmentation.compressed:
        return whole.kspace, measured
    lines = round(config.center_fraction * width)
    start = (width - lines + 1) // 2
    matrix, _ = compression_matrix(measured[..., start : start + lines], augmentation.compressed)
    return compress(matrix, whole.kspace), compress(matrix, measured)
