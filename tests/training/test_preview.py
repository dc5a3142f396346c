"""A preview counts what a training would do, and does not do it."""

import torch

from somamba.models.zoo import MODELS
from somamba.training.preview import preview
from training.tiny import small_network, tiny_recipe


def test_a_preview_counts_and_measures(data):
    recipe = tiny_recipe(data, epochs=3, network=small_network())
    before = torch.get_num_threads()
    found = preview(recipe)
    assert torch.get_num_threads() == before
    assert (found.training_cases, found.training_slices) == (2, 8)
    assert (found.validation_cases, found.validation_slices) == (2, 8)
    assert (found.plan.length, found.shape) == (6, (1, 16, 16))
    assert found.cost.parameters == sum(p.numel() for p in MODELS["so_mamba"].build(recipe.network).parameters())
    assert found.seconds == 6 * found.step_seconds + 3 * found.validation_seconds
    assert found.step_seconds > 0


def test_a_budget_bounds_the_time_of_the_steps(data):
    found = preview(tiny_recipe(data, epochs=3, minutes=2.0, network=small_network()))
    assert found.seconds == 120.0 + 3 * found.validation_seconds
