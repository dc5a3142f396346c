"""One step: gradients of this process's share, their sum over all processes, and the update, if it is finite."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from somamba.data.batch import Batch
from somamba.errors import InputError, TrainingError
from somamba.evaluation.metrics import WINDOW
from somamba.models.base import Reconstructor
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.runtime.device import Arriving
from somamba.runtime.processes import World
from somamba.training.plan import Plan
from somamba.training.progress import Progress
from somamba.training.recipe import Optimiser, Recipe

SSIM_SHARE = 0.1
"""What 1 - SSIM counts beside the mean distance in ``l1_ssim``: about half of it, for images of brightness 1."""


def structural_similarity(image: Tensor, target: Tensor) -> Tensor:
    """SSIM as validation has it (`evaluation.metrics`), differentiable: mean over pixels and slices, range by slice."""
    if min(target.shape[-2:]) < WINDOW:
        raise InputError(f"SSIM needs {WINDOW} x {WINDOW} pixels, slices have {tuple(target.shape[-2:])}; take l1.")
    # The sample covariance of n pixels is n / (n - 1) of their mean product; an empty target has a range all the same.
    sample = WINDOW**2 / (WINDOW**2 - 1)
    peak = target.amax(dim=(1, 2, 3), keepdim=True).clamp(min=1e-6)
    first, second = (0.01 * peak) ** 2, (0.03 * peak) ** 2
    means = [F.avg_pool2d(x, WINDOW, stride=1) for x in (image, target, image * image, target * target, image * target)]
    mean, wanted = means[:2]
    spread = sample * (means[2] - mean * mean + means[3] - wanted * wanted)
    common = sample * (means[4] - mean * wanted)
    luminance = (2 * mean * wanted + first) / (mean * mean + wanted * wanted + first)
    return (luminance * (2 * common + second) / (spread + second)).mean()


def l1_ssim(image: Tensor, target: Tensor) -> Tensor:
    """The mean distance, and a share of what is missing to a structural similarity of 1."""
    return F.l1_loss(image, target) + SSIM_SHARE * (1 - structural_similarity(image, target))


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"l1": F.l1_loss, "l2": F.mse_loss, "l1_ssim": l1_ssim}


@dataclass(frozen=True, kw_only=True)
class Requests:
    """What a process asks for during a step. Requests are summed over processes: one by any is obeyed by all."""

    stop: bool = False
    """The session is to end."""
    save: bool = False
    """A checkpoint is to be written."""

    def with_those_of(self, other: "Requests") -> "Requests":
        """Return what either asks for."""
        return Requests(stop=self.stop or other.stop, save=self.save or other.save)


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What happened in a step, the same in every process."""

    loss: float
    norm: float
    """Length of the gradient before clipping."""
    rate: float
    requests: Requests

    @property
    def finite(self) -> bool:
        """Whether the step was taken: an update that is not finite would spoil the weights for good."""
        return math.isfinite(self.loss) and math.isfinite(self.norm)

    def facts(self) -> dict[str, float | None]:
        """Loss, norm and rate for the journal; JSON cannot hold a number that is not finite."""
        numbers = {"loss": self.loss, "norm": self.norm, "rate": self.rate}
        return {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def make_optimiser(model: Reconstructor, config: Optimiser) -> torch.optim.Optimizer:
    """AdamW over all parameters; the schedule sets its rate at every step.

    A parameter marked ``_no_weight_decay`` by its layer, as the official Mamba marks ``dt_bias`` and ``D``, is not
    pulled to zero: zero would mean something there, a time step for one.
    """
    marked = [p for p in model.parameters() if getattr(p, "_no_weight_decay", False)]
    others = [p for p in model.parameters() if not getattr(p, "_no_weight_decay", False)]
    groups = [{"params": others, "weight_decay": config.weight_decay}, {"params": marked, "weight_decay": 0.0}]
    # One pass over all numbers of a parameter; by default there are ten, which takes longer than some networks do.
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, fused=True)


class Launched:
    """A step that was handed to the device; its numbers are on their way."""

    def __init__(self, numbers: Tensor, rate: float) -> None:
        """Send the numbers of a step to the host.

        Args:
            numbers: Loss, norm, and how many processes ask to stop and to save; on the device of the step.
            rate: Learning rate of the step.
        """
        self.finite = numbers[:2].isfinite().all()
        """Whether the step was taken, on the device."""
        self._numbers, self._rate = Arriving(numbers), rate

    def result(self) -> StepResult:
        """Wait for the numbers."""
        loss, norm, stop, save = self._numbers.wait()
        return StepResult(loss=loss, norm=norm, rate=self._rate, requests=Requests(stop=stop > 0, save=save > 0))


def take_step(
    model: Reconstructor,
    optimiser: torch.optim.Optimizer,
    batches: Sequence[Batch],
    recipe: Recipe,
    *,
    rate: float,
    world: World,
    requests: Requests,
) -> Launched:
    """Accumulate over micro-batches, sum over processes, clip, update; the update is left out if it is not finite.

    Nothing here looks at a number of the device, so a GPU is never waited for.

    Args:
        model: Its parameters are updated.
        optimiser: From `make_optimiser`.
        batches: The micro-batches of this process, on its device.
        recipe: Loss, batch size and clipping.
        rate: Learning rate of this step.
        world: The processes that share the step.
        requests: What this process asks for.
    """
    model.train()
    optimiser.zero_grad(set_to_none=True)
    sums = torch.zeros(3, dtype=torch.float64, device=world.device)
    sums[1].fill_(float(requests.stop))
    sums[2].fill_(float(requests.save))
    for batch in batches:
        loss = batch_loss(model, batch, recipe) * (len(batch) / recipe.batch_size)
        loss.backward()
        sums[0] += loss.detach()
    sums = world.total(sums)
    parameters = list(model.parameters())
    world.total_gradients(parameters)
    # Measured before clipping: a norm that is not finite is spread to every gradient, and none of them is used.
    norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
    clip_grads_with_norm_(parameters, recipe.optimiser.clip_norm, norm)
    numbers = torch.cat([sums[:1], norm[None].to(sums), sums[1:]])
    for group in optimiser.param_groups:
        group["lr"] = rate
    # The fused optimiser leaves parameters, moments and its count of steps alone if this is 1.
    optimiser.found_inf = (~numbers[:2].isfinite().all()).float()  # type: ignore[attr-defined]
    optimiser.step()
    del optimiser.found_inf  # type: ignore[attr-defined]
    return Launched(numbers, rate)


def batch_loss(model: Reconstructor, batch: Batch, recipe: Recipe) -> Tensor:
    """The loss of one micro-batch: mean over pixels and slices; layers in bfloat16 if the recipe says so.

    Args:
        model: The model.
        batch: The micro-batch.
        recipe: The recipe.
    """
    with torch.autocast(batch.y.device.type, torch.bfloat16, enabled=recipe.bf16):
        image = model(batch.y, batch.A)
    return LOSSES[recipe.loss](root_sum_of_squares(image), batch.target)


def advance(progress: Progress, result: StepResult, plan: Plan, config: Optimiser) -> Progress:
    """Count a step; too many in a row that had to be skipped end the training.

    Args:
        progress: What was counted so far.
        result: What the step gave.
        plan: The steps of the run.
        config: The optimiser's settings.
    """
    if progress.step % plan.steps_per_epoch == 0:
        progress = replace(progress, loss_sum=0.0, loss_steps=0)
    progress = replace(progress, step=progress.step + 1)
    if result.finite:
        loss_sum, loss_steps = progress.loss_sum + result.loss, progress.loss_steps + 1
        return replace(progress, loss_sum=loss_sum, loss_steps=loss_steps, skipped_in_row=0)
    progress = replace(progress, skipped=progress.skipped + 1, skipped_in_row=progress.skipped_in_row + 1)
    if progress.skipped_in_row >= config.max_skips:
        raise TrainingError(
            f"The gradient of {progress.skipped_in_row} steps in a row, up to step {progress.step}, was not finite "
            f"(loss {result.loss}, norm {result.norm}). The last checkpoint is intact; try a lower "
            "optimiser.learning_rate, or bf16: false."
        )
    return progress
