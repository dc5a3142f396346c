"""The image that is sparse in wavelets (Lustig et al., MRM 2007), its strength chosen by held-out samples.

It learns nothing and sees no truth. A share of the samples is held out, the image is made from the others at several
strengths, and the strength that predicts the held-out samples best makes the image from all samples. If no sample is
missing, nothing that was held out can say how sparse the image is, and all samples make it by least squares.
"""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor
from typing_extensions import override

from somamba.errors import ConfigError
from somamba.models.base import Reconstructor
from somamba.options import check_at_least
from somamba.physics.encoding import coil_maps
from somamba.physics.held_out import HeldOut, hold_out, sampled_mask
from somamba.physics.operator import LinearOperator
from somamba.physics.sparse import sparse_image
from somamba.shapes import Images


@dataclass(frozen=True, kw_only=True)
class L1WaveletConfig:
    """How sparse, and how the strength is found."""

    strengths: tuple[float, ...] = (0.016, 0.008, 0.004, 0.002, 0.001, 0.0005)
    """Candidates for lambda, falling, for images of brightness 1; a single one is taken as it is."""
    iterations: int = 60
    """Iterations for the image from all samples."""
    search_iterations: int = 25
    """Iterations for each candidate, which starts from the result of the one before it."""
    seed: int = 0
    """Names the samples that are held out to choose the strength."""

    def __post_init__(self) -> None:
        check_at_least(self, iterations=1, search_iterations=1)
        falling = all(one > other for one, other in itertools.pairwise(self.strengths))
        if not self.strengths or not falling or not self.strengths[-1] > 0:
            raise ConfigError(f"strengths={self.strengths} must be positive and fall; name at least one.")


class L1Wavelet(Reconstructor):
    """``argmin 1/2 |A x - y|^2 + lambda |W x|_1``, with lambda by held-out samples, of each slice on its own."""

    def __init__(self, config: L1WaveletConfig | None = None) -> None:
        super().__init__()
        self.config = config or L1WaveletConfig()
        self.used: Tensor | None = None
        """The strengths of the last slices, (batch, 1, 1, 1); 0 is the image of all samples."""

    @override
    @torch.no_grad()
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        self.check(y, A)
        self.used = strength = self.chosen(y, A)
        if not strength.any():
            return _image_of_all(y, A)
        image = sparse_image(y, A, strength, iterations=self.config.iterations)
        return torch.where(strength > 0, image, _image_of_all(y, A)) if not strength.all() else image

    @torch.no_grad()
    def chosen(self, y: Tensor, A: LinearOperator) -> Tensor:
        """The strength of each slice, (batch, 1, 1, 1); 0 where no sample is missing, unless there is one candidate."""
        config = self.config
        if len(config.strengths) == 1:
            return torch.full((len(y), 1, 1, 1), config.strengths[0], device=y.device, dtype=y.dtype.to_real())
        complete = sampled_mask(A).flatten(start_dim=1).all(dim=1).expand(len(y))[:, None, None, None]
        if bool(complete.all()):
            return torch.zeros(len(y), 1, 1, 1, device=y.device, dtype=y.dtype.to_real())
        return torch.where(complete, 0, self._best(y, A))

    def _best(self, y: Tensor, A: LinearOperator) -> Tensor:
        """The strengths that predict the held-out samples best, (batch, 1, 1, 1)."""
        config = self.config
        parts = hold_out(y, A, config.seed)
        residuals = torch.stack(list(self._residuals(parts)))
        best = residuals.argmin(dim=0)
        return torch.tensor(config.strengths, device=y.device, dtype=y.dtype.to_real())[best][:, None, None, None]

    def _residuals(self, parts: HeldOut) -> list[Tensor]:
        found: list[Tensor] = []
        image: Images | None = None
        for strength in self.config.strengths:
            image = sparse_image(parts.y, parts.A, strength, start=image, iterations=self.config.search_iterations)
            found.append(parts.residual(image))
        return found


def _image_of_all(y: Tensor, A: LinearOperator) -> Images:
    """The least-squares image of samples of which none is missing; several sets of maps are orthogonal."""
    image, maps = A.adjoint(y), coil_maps(A)
    if maps is None:
        return image
    energy = maps.abs().square().sum(dim=-3, keepdim=maps.ndim == 4)
    return image / torch.where(energy > 0, energy, 1)
