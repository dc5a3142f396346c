"""One process is a world of its own; several are tested in test_loop."""

import pytest
import torch
from torch import nn

from somamba.errors import ConfigError
from somamba.runtime.processes import World, announced_rank, announced_size, joined


def test_alone_nothing_is_joined_and_sums_are_values():
    with joined("cpu") as world:
        assert (world.rank, world.size, world.leads) == (0, 1, True)
        assert not torch.distributed.is_initialized()
        assert world.total(torch.tensor([3.0])).tolist() == [3.0]
        assert world.of_leader(0.1) == 0.1
        world.wait()


def test_alone_gradients_and_buffers_stay():
    model = nn.BatchNorm1d(2)
    model.weight.grad = torch.tensor([1.0, 2.0])
    World().total_gradients(list(model.parameters()))
    World().share_buffers(model)
    assert model.weight.grad.tolist() == [1.0, 2.0]


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="choose auto, cpu or cuda"), joined("tpu"):
        pass
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="sees no GPU"), joined("cuda"):
            pass


def test_the_rank_is_known_before_joining(monkeypatch):
    assert (announced_rank(), announced_size()) == (0, 1)
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (announced_rank(), announced_size()) == (3, 4)
