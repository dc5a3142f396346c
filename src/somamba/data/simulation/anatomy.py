"""Other anatomies from one: turned, mirrored, zoomed and shifted, in another contrast, with a head around the brain.

Training brains are skull-stripped, scans are not. So a head is drawn around the brain, layer by layer: fluid, skull, a
scalp as bright as fat is, each of drawn thickness, brightness and texture.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Complex, Float
from numpy.typing import NDArray
from torch import Tensor

from somamba.data.simulation.scanner import enlarge, generator
from somamba.physics.scale import brightness

Picture = Float[Tensor, "y x"]
FAINT = 0.05
"""What is darker than this share of the bright parts is background."""
EDGE = 0.012
"""Width of the transition between two layers, in radii of the brain: about one pixel."""


class Anatomy(NamedTuple):
    """An object in the scanner."""

    image: Complex[Tensor, "y x"]
    support: Bool[Tensor, "y x"]
    """The object and a margin: where maps estimated from a scan would have values."""


def vary(image: Picture, *, seed: int, scalp: float | int) -> Anatomy:
    """Draw another anatomy from an image of a brain; with probability ``scalp`` it gets a head around it.

    Args:
        image: The image of a brain.
        seed: The seed of what is drawn.
        scalp: The probability of a head around it.
    """
    draw = generator(seed)
    image = contrast(place(image, draw), draw)
    bright = brightness(image)
    depth = depth_below(image > FAINT * bright, draw)
    if draw.uniform() >= scalp:
        return Anatomy(image.to(torch.complex64), depth < draw.uniform(0.05, 0.3))
    layers, surface = head(depth, draw)
    # Fat is off resonance: its phase is another one than that of the brain.
    phase = torch.polar(torch.tensor(1.0), torch.tensor(draw.uniform(-math.pi, math.pi), dtype=torch.float32))
    outer = bright * layers
    joined = torch.where(outer > image, outer * phase, image.to(torch.complex64))
    return Anatomy(joined, depth < surface + draw.uniform(0.02, 0.2))


def place(image: Picture, draw: np.random.Generator) -> Picture:
    """Turn (by about a multiple of 90 degrees), mirror, zoom and shift."""
    angle = math.pi / 2 * draw.integers(4) + math.radians(draw.uniform(-15, 15))
    zoom = draw.uniform(0.85, 1.25) * draw.uniform(0.95, 1.05, 2) * (1, draw.choice((-1, 1)))
    return moved(image, angle, zoom, draw.uniform(-0.08, 0.08, 2), outside="zeros").clamp_(min=0)


def moved(
    image: Picture, angle: float, zoom: NDArray[np.float64], shift: NDArray[np.float64], *, outside: str
) -> Picture:
    """An image turned, zoomed and shifted, by cubic interpolation.

    Args:
        image: The image.
        angle: In radians.
        zoom: Of columns and of rows; a negative one mirrors.
        shift: Of columns and of rows, in halves of the image.
        outside: What lies beyond the image: ``zeros``, or its ``reflection``.
    """
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    matrix = np.column_stack([turn / zoom[:, None], shift])
    grid = F.affine_grid(torch.from_numpy(matrix[None]).float(), [1, 1, *image.shape], align_corners=False)
    return F.grid_sample(image[None, None], grid, mode="bicubic", padding_mode=outside, align_corners=False)[0, 0]


def contrast(image: Picture, draw: np.random.Generator) -> Picture:
    """Another brightness for every tissue: a drawn curve over intensity that leaves the background dark."""
    scale = max(brightness(image), 1e-12)
    curve = [0.0, *draw.uniform((0.05, 0.25, 0.4), (0.8, 1.0, 1.0)), draw.uniform(0.7, 1.3)]
    return looked_up(image / scale, [0.0, 0.3, 0.6, 0.9, 1.5], curve) * scale


def depth_below(brain: Bool[Tensor, "y x"], draw: np.random.Generator) -> Picture:
    """How far outside of the brain a pixel lies, in radii of a wobbly ellipse that holds it; negative inside."""
    rows, columns = (brain.sum(dim=1 - axis).numpy().astype(np.float64) for axis in (0, 1))
    y, x = np.arange(len(rows)), np.arange(len(columns))
    count = max(rows.sum(), 1.0)
    center_y, center_x = rows @ y / count, columns @ x / count
    radius_y = 2 * math.sqrt(max(rows @ (y - center_y) ** 2 / count, 1.0))
    radius_x = 2 * math.sqrt(max(columns @ (x - center_x) ** 2 / count, 1.0))
    plane = torch.complex(
        *torch.meshgrid(
            *(torch.from_numpy(v).float() for v in ((x - center_x) / radius_x, (y - center_y) / radius_y)),
            indexing="xy",
        )
    )
    waves = np.arange(2, 6)
    turns = np.linspace(-math.pi, math.pi, 65)
    wobble = 1 + draw.normal(scale=0.012, size=4) @ np.cos(np.outer(waves, turns) + draw.uniform(0, 7, (4, 1)))
    distance = plane.abs() / looked_up(plane.angle(), turns, wobble)
    edge = float(distance[brain].max()) if bool(brain.any()) else 1.0
    return distance / edge - 1


def head(depth: Picture, draw: np.random.Generator) -> tuple[Picture, float]:
    """Brightness of what surrounds the brain, relative to it, and the depth of the skin."""
    fluid, inner, marrow, outer, scalp = np.cumsum(
        draw.uniform((0.0, 0.01, 0.0, 0.01, 0.04), (0.05, 0.04, 0.04, 0.04, 0.16))
    )
    wet, bone, fat = draw.uniform(0, 0.3), draw.uniform(0, 0.1), draw.uniform(0.4, 2.5)
    spongy = draw.choice((bone, draw.uniform(0.2, 1.0)))
    borders = [(fluid, wet, bone), (inner, bone, spongy), (marrow, spongy, bone), (outer, bone, fat), (scalp, fat, 0.0)]
    places = np.ravel([[border - EDGE / 2, border + EDGE / 2] for border, _, _ in borders])
    layers = looked_up(depth, np.maximum.accumulate(places), np.ravel([values for _, *values in borders]))
    size = (depth.shape[0], depth.shape[1])
    for grid, strength in ((24, 0.25), (80, 0.15)):
        noise = torch.from_numpy(draw.standard_normal((grid, grid), dtype=np.float32))
        layers = layers * (1 + strength * enlarge(noise, size))
    return layers.clamp_(min=0), float(scalp)


def looked_up(
    values: Picture, places: list[float] | NDArray[np.float64], results: list[float] | NDArray[np.float64]
) -> Picture:
    """A piecewise linear function of every pixel, constant beyond its ends.

    Args:
        values: The pixels.
        places: Where the function is given, rising.
        results: Its values there.
    """
    return torch.from_numpy(np.interp(values.numpy(), places, results).astype(np.float32))
