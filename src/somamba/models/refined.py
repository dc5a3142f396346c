"""A network's image as the prior of a last step: ``min |A x - y|^2 + mu |x - network|^2 + lambda |W x|_1``.

The errors of a network and those of sparsity are partly independent, so their compromise is better than either. How far
each is to be trusted differs from scan to scan. So some samples are held out, the network makes an image without them,
and the ``mu`` and ``lambda`` that predict them clearly better than the usual ones are taken; no truth is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from somamba.errors import InputError
from somamba.models.base import Reconstructor
from somamba.physics.coils.compression import compress, compression_matrix
from somamba.physics.encoding import coil_maps, encoding
from somamba.physics.held_out import HeldOut, hold_out, joined, sampled_mask, without_gaps
from somamba.physics.operator import LinearOperator
from somamba.physics.sparse import sparse_image
from somamba.shapes import Images


class Strengths(NamedTuple):
    """What is chosen for a slice, one for each: (batch, 1, 1, 1)."""

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
    iterations: int = 15
    """Iterations of the last step, from the network's image on."""
    search_iterations: int = 12
    """Iterations for each candidate; all of them start from the network's image."""
    search_coils: int = 6
    """Candidates are compared with the coils compressed to so many, which is enough to tell them apart."""
    sets: int = 2
    """So many sets of lines are held out in turn, and the mean of their residuals decides."""
    search_rows: int = 32
    """Every set of lines is looked at in so many rows of its own, if whole columns were acquired."""
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
        weight, sparsity = (strength.to(y.device) for strength in strengths)
        image = torch.where(_seen(A), self.network(y, A), 0)
        return sparse_image(y, A, sparsity, prior=image, weight=weight, iterations=self.config.iterations)

    @torch.no_grad()
    def strengths(self, y: Tensor, A: LinearOperator) -> Strengths | None:
        """What the held-out samples choose; None if there are no gaps to fill, or nothing can be held out."""
        mask = sampled_mask(A)
        if without_gaps(mask):
            return None
        # Sets of lines are looked at in some rows each, so that several cost no more than one.
        n_sets = self.config.sets if mask.shape[-2] == 1 else 1
        height, n_rows = y.shape[-2], min(y.shape[-2], self.config.search_rows)
        starts = [round((number + 1) * height / (n_sets + 1) - n_rows / 2) for number in range(n_sets)]
        places = [max(0, min(start, height - n_rows)) for start in starts]
        try:
            sets = [
                hold_out(y, A, self.config.seed, number).rows(slice(place, place + n_rows))
                for number, place in enumerate(places)
            ]
        except InputError:
            return None
        parts = _fewer_coils(joined(sets), self.config.search_coils, len(y))
        return _Search(parts, self.network(parts.y, parts.A), len(y), self.config).chosen()


def _seen(A: LinearOperator) -> Tensor:
    """Where coils see anything: elsewhere a network's image is not held by any sample, and nothing is shown."""
    maps = coil_maps(A)
    if maps is None:
        return torch.ones((), dtype=torch.bool)
    return (maps != 0).any(dim=-3, keepdim=maps.ndim == 4)


def _fewer_coils(parts: HeldOut, n_coils: int, n_slices: int) -> HeldOut:
    """The samples of virtual coils, if there is one slice, one set of maps, and more coils than that."""
    maps = coil_maps(parts.A)
    if maps is None or maps.ndim > 4 or n_slices > 1 or maps.shape[1] <= n_coils:
        return parts
    matrix, _ = compression_matrix(parts.y.transpose(0, 1), n_coils)
    y, virtual, hidden = (
        compress(matrix, coils.transpose(0, 1)).transpose(0, 1) for coils in (parts.y, maps, parts.hidden)
    )
    operators = (encoding(sampled_mask(A), virtual) for A in (parts.A, parts.hidden_operator))
    return HeldOut(y, next(operators), hidden, next(operators))


class _Search:
    """The strengths that predict the held-out samples, of each slice on its own."""

    def __init__(self, parts: HeldOut, prior: Images, n_slices: int, config: RefinementConfig) -> None:
        """Keep what is compared with.

        Args:
            parts: The samples of several sets, one after the other.
            prior: The network's images of what is seen.
            n_slices: The slices of each set.
            config: The candidates.
        """
        self.parts, self.prior, self.n_slices, self.config = parts, prior, n_slices, config

    def chosen(self) -> Strengths:
        """The usual strengths; another lambda, and with it another mu, if it is clearly better."""
        config = self.config
        like = self.parts.y.real[: self.n_slices, :1, :1, :1]
        best = Strengths(*(torch.full_like(like, usual) for usual in (config.weight, config.sparsity)))
        usual, *residuals = self._residuals([best, *self._others(best, "sparsity")])
        best, least = self._clearly_better(best, usual, self._others(best, "sparsity"), residuals)
        others = self._others(best, "weight")
        return self._clearly_better(best, least, others, self._residuals(others))[0]

    def _others(self, best: Strengths, name: Literal["weight", "sparsity"]) -> list[Strengths]:
        """The other candidates for one of the strengths."""
        numbers = self.config.weights if name == "weight" else self.config.sparsities
        return [best._replace(**{name: torch.full_like(best.weight, number)}) for number in numbers]

    def _clearly_better(
        self, first: Strengths, residual: Tensor, others: Sequence[Strengths], residuals: Sequence[Tensor]
    ) -> tuple[Strengths, Tensor]:
        """The best of some strengths if it beats the first by the margin, else the first; and its residual."""
        best, least, goal = first, residual, residual * (1 - self.config.margin)
        for other, found in zip(others, residuals, strict=True):
            better = found < torch.minimum(least, goal)
            best = Strengths(*(torch.where(better, new, old) for new, old in zip(other, best, strict=True)))
            least = torch.where(better, found, least)
        return best, least

    def _residuals(self, candidates: Sequence[Strengths]) -> list[Tensor]:
        """The residual of the held-out samples with each of the candidates, (batch, 1, 1, 1). All are one batch."""
        n_sets = len(self.parts.y) // self.n_slices
        many = joined([self.parts] * len(candidates))
        weights, sparsities = (
            torch.cat([getattr(one, name).repeat(n_sets, 1, 1, 1) for one in candidates])
            for name in ("weight", "sparsity")
        )
        prior = self.prior.repeat(len(candidates), 1, 1, 1)
        iterations = self.config.search_iterations
        images = sparse_image(many.y, many.A, sparsities, prior=prior, weight=weights, iterations=iterations)
        return [_mean(one, self.n_slices) for one in many.residual(images).chunk(len(candidates))]


def _mean(residuals: Tensor, n_slices: int) -> Tensor:
    """The residual of each slice, (batch, 1, 1, 1), as the mean over the sets of samples."""
    return residuals.unflatten(0, (-1, n_slices)).mean(dim=0)[:, None, None, None]
