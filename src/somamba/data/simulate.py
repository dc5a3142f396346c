"""What a magnitude image has lost, made up again for protocol ``raw``: coils, a smooth phase, noise. All by seed."""

import math

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

PHASE_ORDER = 3
"""Degree of the polynomial behind the phase: field inhomogeneity and flow are smooth on the scale of an image."""
COIL_DISTANCE = 1.2
"""Distance of the coils from the centre, in half image widths: just outside the body."""


def generator(seed: int) -> np.random.Generator:
    """Random numbers that depend on nothing but the seed."""
    return np.random.Generator(np.random.Philox(key=seed))


def coil_maps(n_coils: int, shape: tuple[int, int], *, seed: int) -> Complex[Tensor, "coils y x"]:
    """Coils on a ring around the image, each sensitive in its neighbourhood; unit norm over the coils everywhere."""
    draw = generator(seed)
    turn = draw.uniform(0, 2 * math.pi)
    angles = torch.as_tensor(turn + 2 * math.pi * (np.arange(n_coils) + draw.uniform(-0.2, 0.2, n_coils)) / n_coils)
    y, x = _grid(shape)
    from_coil = torch.complex(
        x - COIL_DISTANCE * torch.cos(angles)[:, None, None], y - COIL_DISTANCE * torch.sin(angles)[:, None, None]
    )
    # The field of a small loop falls off with the distance, and its phase turns around it.
    maps = torch.polar(1 / (from_coil.abs().square() + 0.1), from_coil.angle() / 2 + angles[:, None, None])
    return (maps / torch.linalg.vector_norm(maps, dim=0)).to(torch.complex64)


def smooth_phase(shape: tuple[int, int], *, seed: int) -> Complex[Tensor, "y x"]:
    """A unit phasor whose angle is a random polynomial, within half a turn either way."""
    draw = generator(seed)
    y, x = _grid(shape)
    angle = torch.zeros_like(y * x)
    for power_y in range(PHASE_ORDER + 1):
        for power_x in range(PHASE_ORDER + 1 - power_y):
            angle = angle + draw.standard_normal() * y**power_y * x**power_x
    angle = angle * (math.pi * draw.uniform(0.3, 1.0) / angle.abs().max().clamp(min=1e-12))
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)


def complex_noise(shape: tuple[int, ...], deviation: float, *, seed: int) -> Complex[Tensor, "..."]:
    """Gaussian noise, independent in both parts, each with this standard deviation."""
    parts = generator(seed).standard_normal((2, *shape), dtype=np.float32) * np.float32(deviation)
    return torch.complex(torch.from_numpy(parts[0]), torch.from_numpy(parts[1]))


def _grid(shape: tuple[int, int]) -> tuple[Float[Tensor, "y 1"], Float[Tensor, "1 x"]]:
    """Coordinates from -1 to 1 along both axes."""
    y, x = (torch.linspace(-1, 1, size, dtype=torch.float64) for size in shape)
    return y[:, None], x[None, :]
