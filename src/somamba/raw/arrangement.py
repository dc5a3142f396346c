"""How k-space of unknown origin has to be turned so that it is centred and its columns are the phase encoding.

Programs disagree on where the zero frequency and the middle of the image lie. Both can be seen: k-space has its energy
around the zero frequency, and people lie in the middle of the image.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import DataError
from somamba.physics.fourier import ifft2c
from somamba.raw.sampling import phase_encodes_rows

YX = (-2, -1)
KSPACE_SHARE = 0.4
"""Share of the energy within a quarter of both axes: 0.8 to 0.99 in measured k-space, below 0.1 in images."""
ROLLED = 2.0
"""An image is taken for rolled if `_rolled_ratio` is above this: 4 to 13 in rolled images, below 0.25 in others."""


@dataclass(frozen=True)
class Arrangement:
    """The three things that may have to be undone."""

    corner: bool = False
    """The zero frequency is the first sample, not the middle one."""
    rolled: bool = False
    """The image is rolled by half its size: its middle is in the corners."""
    transposed: bool = False
    """The phase encoding runs along y."""

    def apply(self, kspace: NDArray[np.complex64]) -> NDArray[np.complex64]:
        """Turn k-space (..., y, x); zeros stay exactly zero."""
        if self.corner:
            kspace = np.fft.fftshift(kspace, axes=YX)
        if self.rolled:
            for axis in YX:
                size = kspace.shape[axis]
                turns = np.exp(2j * np.pi * (np.arange(size) - size // 2) * (size // 2) / size)
                kspace = kspace * turns.astype(np.complex64).reshape((-1, 1) if axis == -2 else (1, -1))
        return np.ascontiguousarray(kspace.swapaxes(*YX) if self.transposed else kspace)

    def notes(self) -> list[str]:
        """What was undone, for people."""
        told = {
            "The zero frequency was the first sample; it was moved to the middle.": self.corner,
            "The image was rolled by half its size; it was rolled back.": self.rolled,
            "Rows were left out, so the phase encoding runs along y: rows and columns were exchanged.": self.transposed,
        }
        return [note for note, applies in told.items() if applies]


def find_arrangement(
    kspace: NDArray[np.complex64], path: Path, *, centred: bool | None, may_be_rolled: bool
) -> Arrangement:
    """Look at one slice (coils, y, x).

    Args:
        kspace: The slice, not all zero.
        path: Its file, for messages.
        centred: True if the user knows that zero frequency and image are in the middle, False if the zero frequency is
            the first sample; None to look.
        may_be_rolled: Whether the image of centred k-space may be rolled; it may always be if k-space is not centred.
    """
    energy = torch.from_numpy(np.square(np.abs(kspace.astype(np.complex128))).sum(axis=0))
    corner = not _found_centred(energy, path) if centred is None else not centred
    values = torch.from_numpy(Arrangement(corner=corner).apply(kspace))
    rolled = False
    if corner or (may_be_rolled and centred is None):
        scale = values.abs().max()
        image = ifft2c(values / scale).abs().square().sum(dim=0)
        rolled = _rolled_ratio(image) > ROLLED
    return Arrangement(corner=corner, rolled=rolled, transposed=phase_encodes_rows(values))


def _found_centred(energy: Float[Tensor, "y x"], path: Path) -> bool:
    """Whether the energy lies in the middle, or in the corners; neither is no k-space."""
    middle, corners = (_share(_middle(turned, 1 / 4), energy) for turned in (energy, torch.fft.fftshift(energy)))
    if not max(middle, corners) >= KSPACE_SHARE:
        raise DataError(
            f"{path}: this does not look like k-space: {middle:.0%} of the energy is in the middle and {corners:.0%} "
            f"in the corners, where k-space has most of it; an image or coil maps look so. If it is k-space, say "
            "whether it is centred: --centred or --uncentred (centred=True or False)."
        )
    return middle >= corners


def _rolled_ratio(image: Float[Tensor, "y x"]) -> float:
    """How much better an image looks rolled by half its size: energy in the middle, none at the border.

    It is the ratio of the energies in the middle half, times the ratio of the energies at the border.
    """
    rolled = torch.fft.fftshift(image)
    border, rolled_border = (turned.sum() - _middle(turned, 7 / 8) for turned in (image, rolled))
    gain = _middle(rolled, 1 / 2) * border
    loss = _middle(image, 1 / 2) * rolled_border
    if loss > 0:
        return float(gain / loss)
    return math.inf if gain > 0 else 1.0


def _share(part: Float[Tensor, ""], energy: Float[Tensor, "y x"]) -> float:
    return float(part / energy.sum())


def _middle(energy: Float[Tensor, "y x"], share: float) -> Float[Tensor, ""]:
    """Sum over the middle of both axes, a share of each."""
    top, left = (int(size * (1 - share) / 2) for size in energy.shape)
    return energy[top : energy.shape[0] - top, left : energy.shape[1] - left].sum()
