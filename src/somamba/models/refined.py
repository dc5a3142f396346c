"""A network's image as the prior of a last step: ``min |A x - y|^2 + mu |x - network|^2 + lambda |W x|_1``.

The errors of a network and those of sparsity are partly independent, so their compromise is better than either. How far
each is to be trusted differs from scan to scan. So some samples are held out, the network makes an image without them,
and the ``mu`` and ``lambda`` that predict them clearly better than the usual ones are taken; no truth is needed.
The phase in which the network sees the scan is chosen in the same way.
"""

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from somamba.errors import InputError
from somamba.models.base import Reconstructor
from somamba.physics.coils.compression import compress, compression_matrix
from somamba.physics.encoding import coil_maps, encoding
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.held_out import HeldOut, hold_out, sampled_mask, without_gaps
from somamba.physics.operator import LinearOperator
from somamba.physics.sparse import sparse_image
from somamba.shapes import Images


class Strengths(NamedTuple):
    """What is chosen for a slice, one for each: (batch, 1, 1, 1)."""

    turn: Tensor
    """Complex, of magnitude 1: what the measurements are multiplied by before the network sees them, and its image
    divided by afterwards."""
    weight: Tensor
    """``mu``: how closely to keep to the network's image."""
    sparsity: Tensor
    """``lambda``: how strongly the image is made sparse."""


@dataclass(frozen=True, kw_only=True)
class RefinementConfig:
    """Which strengths are tried, for images of brightness 1."""

    weight: float = 0.03
    """The mu to take unless another is clearly better."""
    sparsity: float = 0.005
    """The lambda to take unless another is clearly better."""
    weights: tuple[float, ...] = (1.0, 0.3, 0.1, 0.01, 0.0)
    """Other candidates for mu."""
    sparsities: tuple[float, ...] = (0.00125, 0.0025, 0.01, 0.02)
    """Other candidates for lambda."""
    margin: float = 0.01
    """A candidate is clearly better if its residual is lower by more than this share. The samples that are held out
    are few, and with others of the same scan residuals move by about as much."""
    iterations: int = 25
    """Iterations of the last step."""
    search_iterations: int = 12
    """Iterations for each candidate; all of them start from the network's image."""
    search_coils: int = 6
    """Candidates are compared with the coils compressed to so many, which is enough to tell them apart."""
    search_rows: int = 64
    """Candidates are compared on so many rows in the middle, if whole columns were acquired."""
    turns: int = 4
    """So many phases are tried, spread evenly, and the one at which a wave through their residuals is lowest."""
    least_gain: float = 0.002
    """The phase stays as it is unless another lowers the residual by more than this share."""
    seed: int = 0
    """Names the samples that are held out."""


class Refined(Reconstructor):
    """A network followed by the last step. Slices without gaps between their lines stay as the network has them."""

    def __init__(self, network: Reconstructor, config: RefinementConfig | None = None) -> None:
        super().__init__()
        self.network = network
        self.config = config or RefinementConfig()
        self.fixed: Strengths | None = None
        """Strengths that were chosen before, for slices of the same scan; None chooses them for every slice."""
        self.used: Strengths | None = None
        """The strengths of the last slices; None if they were left as the network has them."""

    @override
    @torch.no_grad()
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        self.used = strengths = self.fixed or self.strengths(y, A)
        if strengths is None:
            image: Images = self.network(y, A)
            return image
        turn, weight, sparsity = (strength.to(y.device) for strength in strengths)
        image = self._turned(y, A, turn)
        return sparse_image(y, A, sparsity, prior=image, weight=weight, iterations=self.config.iterations)

    def _turned(self, y: Tensor, A: LinearOperator, turn: Tensor) -> Images:
        """The network's image of measurements of another phase, turned back."""
        image: Images = self.network(y * turn, A)
        return image / turn

    @torch.no_grad()
    def strengths(self, y: Tensor, A: LinearOperator) -> Strengths | None:
        """What the held-out samples choose; None if there are no gaps to fill, or nothing can be held out."""
        if without_gaps(sampled_mask(A)):
            return None
        try:
            parts = hold_out(y, A, self.config.seed)
        except InputError:
            return None
        parts = _fewer_rows(parts, self.config.search_rows)
        turn, prior = self._best_turn(parts)
        return _Search(_fewer_coils(parts, self.config.search_coils), turn, prior, self.config).chosen()

    def _best_turn(self, parts: HeldOut) -> tuple[Tensor, Images]:
        """The phase at which the network predicts the held-out samples best, and its image.

        A scan has an arbitrary phase, and a network need not treat all alike: it has seen some more often than others.
        """
        n_turns = self.config.turns
        tried = [cmath.rect(1, 2 * math.pi * number / n_turns) for number in range(n_turns)]
        turns = [torch.full_like(parts.y[:, :1, :1, :1], one) for one in tried]
        images = [self._turned(parts.y, parts.A, turn) for turn in turns]
        residuals = [parts.residual(image)[:, None, None, None] for image in images]
        wave = (torch.stack(residuals) * torch.stack(turns)).mean(dim=0)
        turns.append(torch.where(wave == 0, 1, -wave / torch.where(wave == 0, 1, wave).abs()))
        images.append(self._turned(parts.y, parts.A, turns[-1]))
        residuals.append(parts.residual(images[-1])[:, None, None, None])
        best, image, least = turns[0], images[0], residuals[0] * (1 - self.config.least_gain)
        for turn, other, residual in zip(turns[1:], images[1:], residuals[1:], strict=True):
            better = residual < least
            best, image = torch.where(better, turn, best), torch.where(better, other, image)
            least = torch.where(better, residual, least)
        return best, image


def _fewer_rows(parts: HeldOut, n_rows: int) -> HeldOut:
    """The lines restricted to the rows in the middle of the image, if there are more; whole columns do not mix rows."""
    height = parts.y.shape[-2]
    if height <= n_rows or sampled_mask(parts.A).shape[-2] > 1:
        return parts
    first = (height - n_rows) // 2
    rows = slice(first, first + n_rows)
    maps = coil_maps(parts.A)
    middle = None if maps is None else maps[..., rows, :]
    seen, hidden = (fft2c(ifft2c(samples)[..., rows, :]) for samples in (parts.y, parts.hidden))
    operators = (encoding(sampled_mask(A), middle) for A in (parts.A, parts.hidden_operator))
    return HeldOut(seen, next(operators), hidden, next(operators))


def _fewer_coils(parts: HeldOut, n_coils: int) -> HeldOut:
    """The samples of virtual coils, if there is one slice, one set of maps, and more coils than that."""
    maps = coil_maps(parts.A)
    if maps is None or maps.ndim > 4 or len(parts.y) > 1 or maps.shape[1] <= n_coils:
        return parts
    matrix, _ = compression_matrix(parts.y[0], n_coils)
    virtual = compress(matrix, maps[0])[None]
    return HeldOut(
        compress(matrix, parts.y[0])[None],
        encoding(sampled_mask(parts.A), virtual),
        compress(matrix, parts.hidden[0])[None],
        encoding(sampled_mask(parts.hidden_operator), virtual),
    )


class _Search:
    """The strengths that predict the held-out samples, of each slice on its own."""

    def __init__(self, parts: HeldOut, turn: Tensor, prior: Images, config: RefinementConfig) -> None:
        self.parts, self.turn, self.prior, self.config = parts, turn, prior, config

    def chosen(self) -> Strengths:
        """The usual strengths; another lambda, and with it another mu, if it is clearly better."""
        config = self.config
        weight, sparsity = (torch.full_like(self.turn.real, usual) for usual in (config.weight, config.sparsity))
        best = Strengths(self.turn, weight, sparsity)
        for name in ("sparsity", "weight"):
            numbers = config.sparsities if name == "sparsity" else config.weights
            others = [best._replace(**{name: torch.full_like(best.weight, number)}) for number in numbers]
            best = self._clearly_better(best, others)
        return best

    def _clearly_better(self, usual: Strengths, others: Sequence[Strengths]) -> Strengths:
        """The best of some strengths if it beats the usual ones by the margin, else these."""
        best, least = usual, self._residual(usual) * (1 - self.config.margin)
        for other in others:
            residual = self._residual(other)
            better = residual < least
            best = Strengths(*(torch.where(better, new, old) for new, old in zip(other, best, strict=True)))
            least = torch.where(better, residual, least)
        return best

    def _residual(self, strengths: Strengths) -> Tensor:
        """The residual of the held-out samples, (batch, 1, 1, 1)."""
        image = sparse_image(
            self.parts.y,
            self.parts.A,
            strengths.sparsity,
            prior=self.prior,
            weight=strengths.weight,
            iterations=self.config.search_iterations,
        )
        return self.parts.residual(image)[:, None, None, None]
