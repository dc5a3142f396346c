"""The numbers of a run, and the draws of a step."""

import math

import pytest
import torch

from somamba.errors import TrainingError
from somamba.training.plan import make_plan
from somamba.training.progress import Progress, seed_step
from somamba.training.recipe import Optimiser, Recipe
from somamba.training.step import Requests, StepResult, advance
from training.tiny import small_network


def test_a_step_draws_the_same_numbers_whenever_it_comes():
    seed_step(0, 5, rank=0)
    first = torch.rand(3)
    torch.rand(100)
    seed_step(0, 5, rank=0)
    assert torch.rand(3).equal(first)
    for seed, step, rank in ((0, 6, 0), (0, 5, 1), (1, 5, 0)):
        seed_step(seed, step, rank)
        assert not torch.rand(3).equal(first)


def test_the_mean_loss_is_that_of_the_epoch():
    assert Progress().mean_loss is None
    assert Progress(loss_sum=3.0, loss_steps=2).mean_loss == 1.5


def after(losses, config=None):
    """What is counted after steps with these losses, four of which are an epoch."""
    plan, progress = make_plan(Recipe(network=small_network(), batch_size=1), 4), Progress()
    for loss in losses:
        result = StepResult(loss=loss, norm=1.0, rate=0.1, requests=Requests())
        progress = advance(progress, result, plan, config or Optimiser())
    return progress


def test_the_losses_of_an_epoch_are_summed_and_the_next_begins_anew():
    assert after([1.0, 2.0, 6.0]).mean_loss == 3.0
    assert after([1.0, math.nan, 6.0]).mean_loss == 3.5
    assert after([1.0, 2.0, 6.0, 7.0]).mean_loss == 4.0
    assert after([1.0, 2.0, 6.0, 7.0, 10.0]).mean_loss == 10.0


def test_skipped_steps_are_counted_and_too_many_in_a_row_end_the_training():
    assert after([math.nan, 1.0, math.inf, math.nan]) == Progress(
        step=4, loss_sum=1.0, loss_steps=1, skipped=3, skipped_in_row=2
    )
    assert after([math.nan, math.nan, 1.0]).skipped_in_row == 0
    config = Optimiser(max_skips=2)
    assert after([math.nan, 1.0, math.nan, 1.0], config).skipped == 2
    with pytest.raises(TrainingError, match="2 steps in a row, up to step 3"):
        after([1.0, math.nan, math.nan], config)


def test_skipped_steps_are_not_taken():
    assert Progress(step=7, skipped=2).taken == 5
