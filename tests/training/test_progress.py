"""The numbers of a run, and the draws of a step."""

import torch

from somamba.training.progress import Progress, seed_step


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


def test_skipped_steps_are_not_taken():
    assert Progress(step=7, skipped=2).taken == 5
