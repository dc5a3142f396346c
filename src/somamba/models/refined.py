"""A network's image as the prior of a last step: ``min |A x - y|^2 + mu |x - network|^2 + lambda |W x|_1``.

The errors of a network and those of sparsity are partly independent, so their compromise is better than either. How far
each is to be trusted differs from scan to scan. So some samples are held out, the network makes an image without them,
and the ``mu`` and ``lambda`` that predict them best are taken; no truth is needed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from typing_extensions import override

from somamba.errors import InputError
from somamba.models.base import Reconstructor
from somamba.physics.compression import compress, compression_matrix
from somamba.physics.encoding import Coils, encoding
from somamba.physics.held_out import HeldOut, hold_out, sampled_mask, without_gaps
from somamba.physics.operator import LinearOperator
from somamba.physics.sparse import sparse_image
from somamba.shapes import Images


class Strengths(NamedTuple):
    """Strengths of the last step, one for each slice: (batch, 1, 1, 1)."""

    weight: Tensor
    """``mu``: how closely to keep to the network's image."""
    sparsity: Tensor
    """``lambda``: how strongly the image is made sparse."""


@dataclass(frozen=True, kw_only=True)
class RefinementConfig:
    """Which strengths are tried, for images of brightness 1."""

    weights: tuple[float, ...] = (0.1, 0.03, 0.003, 0.001, 0.0)
    """Further candidates for mu, tried with the chosen lambda."""
    first_weight: float = 0.01
    """The mu with which lambda is chosen."""
    sparsities: tuple[float, ...] = (0.008, 0.004, 0.002, 0.001)
    """The candidates for lambda."""
    iterations: int = 40
    """Iterations of the last step."""
    search_iterations: int = 10
    """Iterations for each candidate, which starts from the result of the one before it."""
    search_coils: int = 6
    """Candidates are compared with the coils compressed to so many, which is enough to tell them apart."""
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
        image: Images = self.network(y, A)
        self.used = strengths = self.fixed or self.strengths(y, A)
        if strengths is None:
            return image
        weight, sparsity = (strength.to(y.device) for strength in strengths)
        return sparse_image(y, A, sparsity, prior=image, weight=weight, iterations=self.config.iterations)

    @torch.no_grad()
    def strengths(self, y: Tensor, A: LinearOperator) -> Strengths | None:
        """What the held-out samples choose; None if there are no gaps to fill, or nothing can be held out."""
        if without_gaps(sampled_mask(A)):
            return None
        try:
            parts = hold_out(y, A, self.config.seed)
        except InputError:
            return None
        prior = self.network(parts.y, parts.A)
        search = _Search(_fewer_coils(parts, self.config.search_coils), prior, self.config.search_iterations)
        size = (len(y), 1, 1, 1)
        real = y.dtype.to_real()
        weight = torch.full(size, self.config.first_weight, dtype=real, device=y.device)
        for sparsity in self.config.sparsities:
            search.attempt(Strengths(weight, torch.full_like(weight, sparsity)))
        chosen = search.best.sparsity
        for number in self.config.weights:
            search.attempt(Strengths(torch.full_like(weight, number), chosen))
        return search.best


def _fewer_coils(parts: HeldOut, n_coils: int) -> HeldOut:
    """The samples of virtual coils, if there is one slice and it has more coils than that."""
    maps = next((factor.maps for factor in parts.A.factors if isinstance(factor, Coils)), None)
    if maps is None or len(parts.y) > 1 or maps.shape[1] <= n_coils:
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
    """The best strengths so far, of each slice on its own."""

    def __init__(self, parts: HeldOut, prior: Images, iterations: int) -> None:
        self.parts, self.prior, self.iterations = parts, prior, iterations
        self.start = prior
        nothing = torch.zeros(len(prior), 1, 1, 1, device=prior.device, dtype=prior.dtype.to_real())
        self.best = Strengths(nothing, nothing)
        self.residual = torch.full_like(nothing, torch.inf)

    def attempt(self, strengths: Strengths) -> None:
        """Try some strengths; what predicts the held-out samples better than all before is kept."""
        self.start = sparse_image(
            self.parts.y,
            self.parts.A,
            strengths.sparsity,
            start=self.start,
            prior=self.prior,
            weight=strengths.weight,
            iterations=self.iterations,
        )
        residual = self.parts.residual(self.start)[:, None, None, None]
        better = residual < self.residual
        self.best = Strengths(*(torch.where(better, new, old) for new, old in zip(strengths, self.best, strict=True)))
        self.residual = torch.where(better, residual, self.residual)
