"""The average of the weights is the one that its definition names, and leaves the weights alone."""

from contextlib import suppress

import pytest
import torch
from torch import nn

from somamba.errors import InputError
from somamba.training.average import WeightAverage


def steps(decay, count):
    """A model whose weights are set at every step, its average, and the weights by step."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    average, seen = WeightAverage(model, decay), []
    for step in range(1, count + 1):
        with torch.no_grad():
            model.weight.normal_()
        seen.append(model.weight.detach().clone())
        average.update(step)
    return model, average, seen


@pytest.mark.parametrize(("decay", "count"), [(0.9, 1), (0.9, 5), (0.5, 40), (0.999, 7)])
def test_it_is_the_weighted_mean_of_all_steps_so_far(decay, count):
    _, average, seen = steps(decay, count)
    shares = torch.tensor([decay ** (count - k) for k in range(1, count + 1)], dtype=torch.float64)
    wanted = sum(share * weight.double() for share, weight in zip(shares, seen, strict=True)) / shares.sum()
    assert torch.allclose(average.tensors()["average/weight"].double(), wanted, atol=1e-6)


def test_it_is_applied_inside_and_the_weights_come_back_to_the_last_bit():
    model, average, seen = steps(0.9, 5)
    with suppress(RuntimeError), average.applied():
        assert model.weight.equal(average.tensors()["average/weight"])
        raise RuntimeError
    assert model.weight.equal(seen[-1])


def test_it_comes_back_from_its_tensors():
    _, average, _ = steps(0.9, 5)
    other, fresh, _ = steps(0.9, 0)
    fresh.load(
        {name: value.clone() for name, value in average.tensors().items()} | {"exp_avg/weight": other.weight},
        source="x",
    )
    assert fresh.tensors()["average/weight"].equal(average.tensors()["average/weight"])


@pytest.mark.parametrize("spoil", [{}, {"average/weight": torch.zeros(2, 2), "average/bias": torch.zeros(2)}])
def test_what_does_not_fit_is_refused(spoil):
    _, average, _ = steps(0.9, 1)
    with pytest.raises(InputError, match=r"moving average .* does not fit"):
        average.load(spoil, source="x")
