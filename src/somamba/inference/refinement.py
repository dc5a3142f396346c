"""The last step of a scan: its strengths are chosen once, on a slice in the middle, and used for all slices."""

from typing import Any

import torch
from torch import Tensor

from somamba.inference.preparation import Preparation
from somamba.inference.trained import Trained
from somamba.models.refined import Refined, RefinementConfig, Strengths
from somamba.models.soft_sense import SoftSense
from somamba.physics.operator import LinearOperator


def refinement_config(trained: Trained) -> RefinementConfig:
    """How strengths are chosen behind a network; one that was adapted has not seen the first set of held-out lines."""
    return RefinementConfig(sets=1) if "adaptation" in trained.config else RefinementConfig()


def refinement(preparation: Preparation, trained: Trained, device: torch.device | str = "cpu") -> Refined:
    """The network with the last step behind it.

    Args:
        preparation: The scan. Of several slices, the one nearest to the middle that has signal chooses the strengths.
        trained: The network, on ``device``.
        device: Where it runs.
    """
    refined = Refined(SoftSense(trained.model), refinement_config(trained)).eval()
    count = preparation.scan.slices
    if count == 1:
        return refined
    for index in sorted(range(count), key=lambda number: abs(number - count // 2)):
        prepared = preparation.slice(index)
        chosen: list[Strengths | None] = []

        def choose(y: Tensor, A: LinearOperator, chosen: list[Strengths | None] = chosen) -> Tensor:
            chosen.append(refined.strengths(y, A))
            return A.adjoint(y)

        if prepared is not None and prepared.recover(choose, device) is not None:
            refined.fixed = chosen[0]
            break
    return refined


def facts_of(refined: Refined) -> dict[str, Any]:
    """What the provenance says: the phase and the strengths that were used, None if nothing was missing or held out."""
    if refined.used is None:
        return {"turn": None, "weight": None, "sparsity": None}
    turn, weight, sparsity = (strength.flatten()[0] for strength in refined.used)
    return {"turn": float(turn.angle()), "weight": float(weight), "sparsity": float(sparsity)}
