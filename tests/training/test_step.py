"""A step is the one that its formula names: loss, clipping, rate, AdamW; who is decayed, and whose memory is whose."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from somamba.data.batch import Batch
from somamba.errors import InputError
from somamba.evaluation.metrics import ssim
from somamba.models.base import Reconstructor
from somamba.models.so_mamba.model import SOMamba
from somamba.models.zoo import MODELS
from somamba.physics.encoding import encoding
from somamba.runtime.processes import World
from somamba.training.recipe import Optimiser, Recipe
from somamba.training.run.checkpoints import load_optimiser, optimiser_tensors
from somamba.training.step import Requests, batch_loss, l1_ssim, make_optimiser, structural_similarity, take_step
from training.tiny import TinyNetwork, small_network


def test_weight_decay_leaves_the_time_steps_and_the_skip_alone_and_nothing_else():
    model = SOMamba(small_network())
    optimiser = make_optimiser(model, Optimiser(weight_decay=0.5, learning_rate=0.1))
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    left = {
        name for name, parameter in model.named_parameters() if parameter.equal(before[name]) and before[name].any()
    }
    spared = {name for name in before if name.rsplit(".", 1)[-1] in ("D", "dt_bias")}
    assert left == spared != set()


def test_a_network_without_such_parameters_is_decayed_whole():
    optimiser = make_optimiser(TinyNetwork(), Optimiser(weight_decay=0.5))
    assert [(len(group["params"]), group["weight_decay"]) for group in optimiser.param_groups] == [(6, 0.5), (0, 0.0)]


def test_the_memory_of_each_parameter_comes_back_to_it_across_the_groups():
    torch.manual_seed(0)
    model = SOMamba(small_network())
    optimiser = make_optimiser(model, Optimiser())
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimiser.step()
    stored = {name: tensor.clone() for name, tensor in optimiser_tensors(model, optimiser).items()}
    copy = SOMamba(small_network())
    fresh = make_optimiser(copy, Optimiser())
    load_optimiser(copy, fresh, stored, source="x")
    again = optimiser_tensors(copy, fresh)
    assert again.keys() == stored.keys() != set()
    assert all(again[name].equal(value) for name, value in stored.items())


class Fixed(Reconstructor):
    """Gives the images it is told, times two weights, whatever was measured."""

    def __init__(self, images, weights=(1.0, 1.0)):
        super().__init__()
        self.images, self.weights = images, nn.Parameter(torch.tensor(weights))

    def forward(self, y, A):  # noqa: ARG002 - the interface of a reconstructor
        """The images, the second coil times the second weight."""
        return self.images[: len(y)] * self.weights[:, None, None]


def two_coils(targets):
    """Complex images of two coils whose magnitudes are easy numbers, and a batch with these targets."""
    first = torch.tensor([[3 + 0j, 0 + 4j], [-3j, 0j]])
    second = torch.tensor([[0 + 4j, -3 + 0j], [4 + 0j, 5j]])
    images = torch.stack([first, second])[None].expand(len(targets), 2, 2, 2)  # root sum of squares: 5 everywhere
    mask = torch.ones(len(targets), 1, 2, 2, dtype=torch.bool)
    names = tuple(f"case{k}" for k in range(len(targets)))
    target = torch.tensor(targets)[:, None, None, None].expand(-1, 1, 2, 2)
    batch = Batch(
        y=torch.zeros(len(targets), 2, 2, 2, dtype=torch.complex64),
        A=encoding(mask, None),
        target=target,
        scale=torch.ones(len(targets)),
        mask=mask,
        case_ids=names,
        slices=tuple(range(len(targets))),
    )
    return images, batch


def recipe(loss="l1", **optimiser):
    network = MODELS["so_mamba"].config
    return Recipe(network=network, loss=loss, batch_size=2, optimiser=Optimiser(**optimiser))


@pytest.mark.parametrize(("loss", "wanted"), [("l1", (2.0 + 4.0) / 2), ("l2", (4.0 + 16.0) / 2)])
def test_the_loss_is_that_of_the_magnitudes_over_all_coils(loss, wanted):
    images, batch = two_coils([3.0, 9.0])
    assert batch_loss(Fixed(images), batch, recipe(loss)).item() == pytest.approx(wanted, rel=1e-6)


def test_l1_ssim_adds_a_tenth_of_what_similarity_lacks():
    """Flat images have no structure: 5 against 3 differ in luminance alone, 2 * 15 over 25 + 9 but for 0.0009."""
    lacking = 1 - (2 * 15 + 0.0009) / (25 + 9 + 0.0009)
    flat = torch.ones(1, 1, 9, 8)
    assert l1_ssim(5 * flat, 3 * flat).item() == pytest.approx(2 + 0.1 * lacking, rel=1e-6)
    assert l1_ssim(3 * flat, 3 * flat).item() == pytest.approx(0, abs=1e-6)
    assert l1_ssim(0 * flat, 0 * flat).item() == 0


@pytest.mark.parametrize("contrast", [1.0, 0.1])
def test_the_similarity_of_training_is_that_of_validation(contrast):
    """Also at low contrast, where the constants of SSIM count as much as the spread of the pixels."""
    draw = torch.Generator().manual_seed(3)
    flat = torch.tensor([1.0, 7.0], dtype=torch.float64).reshape(2, 1, 1, 1)
    first, second = (torch.rand(2, 1, 21, 30, generator=draw, dtype=torch.float64) for _ in range(2))
    target = flat * (1 + contrast * (first - 1))
    image = target + 0.3 * contrast * flat * second
    wanted = np.mean([ssim(image[k, 0], target[k, 0]) for k in range(2)])
    assert structural_similarity(image, target).item() == pytest.approx(wanted, abs=1e-9)


def test_slices_smaller_than_its_window_are_refused():
    with pytest.raises(InputError, match="SSIM needs 7 x 7 pixels"):
        l1_ssim(torch.ones(1, 1, 6, 9), torch.ones(1, 1, 6, 9))


@pytest.mark.parametrize("bf16", [True, False])
def test_layers_run_in_bfloat16_only_if_the_recipe_says_so(bf16, monkeypatch):
    images, batch = two_coils([3.0, 9.0])
    model, seen = Fixed(images), []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda *a: (seen.append(torch.is_autocast_enabled("cpu")), forward(*a))[1])
    batch_loss(model, batch, replace(recipe(), bf16=bf16))
    assert seen == [bf16]


def magnitude_gradient(weights, target):
    """The gradient of mean |m - target| over four pixels, m = sqrt(sum (w_c |x_c|)^2), by hand."""
    squares = np.array([[9.0, 16.0, 9.0, 0.0], [16.0, 9.0, 16.0, 25.0]])
    magnitude = np.sqrt((np.array(weights)[:, None] ** 2 * squares).sum(axis=0))
    return (np.sign(magnitude - target) * np.array(weights)[:, None] * squares / magnitude).mean(axis=1)


def test_steps_follow_the_formula_of_adamw_with_clipping():
    """Three steps: gradients of different length, of which the long ones are cut, at different rates."""
    rates, targets, clip, decay = (0.1, 0.05, 0.2), ((0.0, 0.0), (0.0, 3.3), (9.9, 9.9)), 2.0, 0.3
    settings = recipe(clip_norm=clip, weight_decay=decay, betas=(0.8, 0.95), learning_rate=123.0)
    images, _ = two_coils([0.0, 0.0])
    model = Fixed(images, (1.0, 0.5))
    optimiser = make_optimiser(model, settings.optimiser)
    weights, first, second = np.array([1.0, 0.5]), np.zeros(2), np.zeros(2)
    clipped = []
    for step, (rate, target) in enumerate(zip(rates, targets, strict=True), start=1):
        batches = [two_coils([one])[1] for one in target]  # Two micro-batches of one slice.
        result = take_step(model, optimiser, batches, settings, rate=rate, world=World(), requests=Requests()).result()
        gradient = np.mean([magnitude_gradient(weights, one) for one in target], axis=0)
        norm = np.linalg.norm(gradient)
        assert (result.norm, result.rate) == (pytest.approx(norm, rel=1e-5), rate)
        clipped.append(norm > clip)
        gradient = gradient * min(1.0, clip / (norm + 1e-6))
        first, second = 0.8 * first + 0.2 * gradient, 0.95 * second + 0.05 * gradient**2
        update = first / (1 - 0.8**step) / (np.sqrt(second / (1 - 0.95**step)) + 1e-8)
        weights = weights * (1 - rate * decay) - rate * update
        assert model.weights.tolist() == pytest.approx(weights, rel=1e-5)
    assert set(clipped) == {True, False}


def test_at_rate_zero_nothing_moves():
    settings = recipe(weight_decay=0.5)
    images, batch = two_coils([1.0, 2.0])
    model = Fixed(images, (0.3, 0.7))
    optimiser = make_optimiser(model, settings.optimiser)
    before = model.weights.detach().clone()
    for _ in range(3):
        result = take_step(model, optimiser, [batch], settings, rate=0.0, world=World(), requests=Requests()).result()
        assert result.norm > 0
    assert model.weights.equal(before)


def test_what_one_process_asks_for_comes_back_as_what_all_do():
    images, batch = two_coils([1.0, 2.0])
    settings, model = recipe(), Fixed(images)
    optimiser = make_optimiser(model, settings.optimiser)
    for asked in (Requests(), Requests(stop=True), Requests(save=True)):
        result = take_step(model, optimiser, [batch], settings, rate=0.1, world=World(), requests=asked).result()
        assert result.requests == asked
