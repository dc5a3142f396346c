"""One scan of many: protocol ``raw`` with everything drawn that differs between scanners, patients and protocols."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from somamba.data.batch import Sample
from somamba.data.config import DataConfig
from somamba.data.simulation.anatomy import Anatomy, vary
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.simulation.scanner import complex_noise, generator, smooth_phase, varied_coils
from somamba.data.simulation.seeds import Draw, mask_for
from somamba.physics.encoding import Coils, Fourier, Sampling
from somamba.physics.scale import brightness, zero_filled_scale


def varied(values: NDArray[Any], config: DataConfig, augmentation: Augmentation, draw: Draw) -> Sample:
    """Draw a scan of one magnitude image and measure it.

    Args:
        values: The magnitude image.
        config: Protocol and size.
        augmentation: The bounds of what is drawn.
        draw: The slice and epoch that name the seeds.
    """
    image = torch.from_numpy(np.array(values, dtype=np.float32))
    shape = (image.shape[0], image.shape[1])
    config = drawn_config(config, augmentation, shape[1], draw)
    anatomy = Anatomy(image.to(torch.complex64), torch.ones(shape, dtype=torch.bool))
    if augmentation.anatomy:
        anatomy = vary(image, seed=draw.of("anatomy"), scalp=augmentation.scalp)
    coils = varied_coils(config.n_coils, shape, seed=draw.of("coils"))
    norm = (coils.real.square() + coils.imag.square()).sum(dim=0).sqrt()
    x = anatomy.image * smooth_phase(shape, seed=draw.of("phase"))
    if augmentation.anatomy:
        # Maps have unit norm over the coils, as estimated ones do; so the shading by the coils is part of the image.
        x = x * (norm / norm.max()) ** generator(draw.of("shading")).uniform(0, 0.7)
    # Estimated maps are zero where there is no object.
    maps = coils * torch.where(anatomy.support, 1 / norm, 0)
    target = x.abs()[None]
    mask = mask_for(shape, config, draw).tensor()
    A = Sampling(mask) @ Fourier() @ Coils(maps[None])
    kspace = A(x[None, None])
    if config.snr is not None:
        columns = mask[0, 0, 0]
        noise = complex_noise(
            (len(maps), shape[0], int(columns.sum())), brightness(target) / config.snr, seed=draw.of("noise")
        )
        kspace[..., columns] += noise
    scale = zero_filled_scale(kspace, A)
    return Sample(
        kspace=kspace[0] / scale,
        mask=mask[0],
        maps=maps if config.combine == "sense" else None,
        target=target / abs(scale),
        scale=abs(scale),
        case_id=draw.case_id,
        slice=draw.slice,
    )


def drawn_config(config: DataConfig, augmentation: Augmentation, width: int, draw: Draw) -> DataConfig:
    """The configuration of one slice of so many columns: a number within every bound.

    Args:
        config: What is not drawn.
        augmentation: The bounds.
        width: The number of columns.
        draw: The slice and epoch that name the seeds.
    """
    numbers = generator(draw.of("variety"))  # the stream keeps its old name, and every scan its numbers
    acceleration = float(numbers.uniform(*augmentation.acceleration))
    lines = min(int(numbers.integers(*augmentation.calibration, endpoint=True)), int(width / acceleration / 2))
    return bounded_config(config, augmentation, numbers, acceleration=acceleration, center_fraction=lines / width)


def bounded_config(
    config: DataConfig,
    augmentation: Augmentation,
    numbers: np.random.Generator,
    *,
    acceleration: float,
    center_fraction: float,
) -> DataConfig:
    """The configuration of one scan whose acceleration and centre were drawn before the rest is.

    Args:
        config: What is not drawn.
        augmentation: The bounds.
        numbers: Draws the kind of mask, the number of coils and the noise.
        acceleration: All columns over acquired ones.
        center_fraction: The share of the columns that is acquired around the centre.
    """
    return replace(
        config,
        mask=augmentation.masks[numbers.integers(len(augmentation.masks))],
        masks="drawn",
        acceleration=acceleration,
        mask_options={"center_fraction": center_fraction},
        n_coils=int(numbers.integers(*augmentation.coils, endpoint=True)),
        snr=math.exp(numbers.uniform(*np.log(augmentation.snr))),
        augmentation=None,
    )
