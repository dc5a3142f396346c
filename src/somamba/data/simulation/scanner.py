"""What a magnitude image does not have, simulated for protocol ``raw``: coils, a smooth phase, noise. All by seed."""

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

PHASE_ORDER = 3
"""Degree of the polynomial behind the phase: field inhomogeneity and flow are smooth on the scale of an image."""
UNEVEN = (6, 60)
"""The coarsest and the finest grid of an uneven phase: so many independent angles along each side."""
COIL_DISTANCE = 1.2
"""Distance of the coils from the centre, in half image widths: just outside the body."""
COARSE = 24
"""Rows and columns of the grid on which smooth fields are computed before they are enlarged: 80 times less work."""


def generator(seed: int) -> np.random.Generator:
    """Random numbers that depend on nothing but the seed."""
    return np.random.Generator(np.random.Philox(key=seed))


def coil_maps(n_coils: int, shape: tuple[int, int], *, seed: int) -> Complex[Tensor, "coils y x"]:
    """Coils on a ring around the image, each sensitive in its neighbourhood; unit norm over the coils everywhere.

    Args:
        n_coils: The number of coils.
        shape: Rows and columns.
        seed: The seed of their places.
    """
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


def varied_coils(n_coils: int, shape: tuple[int, int], *, seed: int) -> Complex[Tensor, "coils y x"]:
    """Coils as in `coil_maps`, but of drawn distance, size, strength and phase, and not normalised.

    Args:
        n_coils: The number of coils.
        shape: Rows and columns.
        seed: The seed of what is drawn.
    """
    draw = generator(seed)
    angles = 2 * math.pi * (draw.uniform() + (np.arange(n_coils) + draw.uniform(-0.3, 0.3, n_coils)) / n_coils)
    places = draw.uniform(1.1, 1.6) * draw.uniform(0.9, 1.1, n_coils) * np.exp(1j * angles)
    y, x = np.meshgrid(*[np.linspace(-1, 1, COARSE)] * 2, indexing="ij")
    from_coil = x + 1j * y - places[:, None, None]
    # A plane of phase for every coil besides the turn around its loop: cables, receivers, position.
    tilt = draw.normal(scale=0.5, size=(3, n_coils, 1, 1)) * np.array([2 * math.pi, 1, 1])[:, None, None, None]
    phase = draw.uniform(0, 1) * np.angle(from_coil / -places[:, None, None]) + tilt[0] + tilt[1] * y + tilt[2] * x
    strength = draw.uniform(0.7, 1.3, (n_coils, 1, 1)) / (np.abs(from_coil) ** 2 + draw.uniform(0.05, 0.5))
    maps = torch.from_numpy(np.stack([strength * np.cos(phase), strength * np.sin(phase)])).float()
    return torch.complex(*enlarge(maps, shape))


def enlarge(field: Float[Tensor, "*fields rows columns"], shape: tuple[int, int]) -> Float[Tensor, "*fields y x"]:
    """A smooth field on a finer grid with the same corners, by cubic interpolation."""
    rows, columns = (_finer(n, size) for n, size in zip(field.shape[-2:], shape, strict=True))
    return rows @ field @ columns.mT


@lru_cache(maxsize=16)
def _finer(n: int, size: int) -> Float[Tensor, "size n"]:
    """What every point of a line of ``n`` contributes to those of a line of ``size``: Keys' cubic, exact for planes."""
    far = (torch.linspace(0, n - 1, size)[:, None] - torch.arange(n)).abs()
    inner, outer = 1 + far**2 * (1.5 * far - 2.5), 2 - far * (4 - far * (2.5 - 0.5 * far))
    weights = torch.where(far < 1, inner, torch.where(far < 2, outer, 0))
    return weights / weights.sum(dim=1, keepdim=True)


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


def uneven_phase(
    shape: tuple[int, int], unevenness: tuple[float | int, float | int], draw: np.random.Generator
) -> Complex[Tensor, "y x"]:
    """A unit phasor whose angle varies within a few pixels or many: vessels, air, flow, what a polynomial cannot be.

    Args:
        shape: Rows and columns.
        unevenness: The least and the largest standard deviation of the angle.
        draw: Random numbers.
    """
    size = int(math.exp(draw.uniform(math.log(UNEVEN[0]), math.log(UNEVEN[1]))))
    deviation = draw.uniform(*unevenness)
    angle = enlarge(torch.from_numpy(draw.standard_normal((size, size), dtype=np.float32)), shape) * deviation
    return torch.polar(torch.ones_like(angle), angle)


def complex_noise(shape: tuple[int, ...], deviation: float, *, seed: int) -> Complex[Tensor, "..."]:
    """Gaussian noise, independent in both parts, each with this standard deviation.

    Args:
        shape: The shape.
        deviation: The standard deviation of the real and of the imaginary part.
        seed: The seed.
    """
    parts = generator(seed).standard_normal((2, *shape), dtype=np.float32) * np.float32(deviation)
    return torch.complex(torch.from_numpy(parts[0]), torch.from_numpy(parts[1]))


def _grid(shape: tuple[int, int]) -> tuple[Float[Tensor, "y 1"], Float[Tensor, "1 x"]]:
    """Coordinates from -1 to 1 along both axes."""
    y, x = (torch.linspace(-1, 1, size, dtype=torch.float64) for size in shape)
    return y[:, None], x[None, :]
