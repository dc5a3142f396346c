"""One process is a world of its own; several are tested in test_loop."""

import pytest
import torch
from torch import nn

from somamba.errors import ConfigError
from somamba.runtime import processes
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


def test_gradients_of_several_processes_are_summed_and_each_goes_back_to_its_parameter(monkeypatch):
    """The other process is played by what the message becomes: it has twice our gradients."""
    monkeypatch.setattr(processes.distributed, "all_reduce", lambda flat: flat.mul_(3))
    parameters = [torch.nn.Parameter(torch.zeros(shape)) for shape in ((2, 3), (4,), (1,))]
    parameters[0].grad, parameters[1].grad = torch.arange(6.0).view(2, 3), -torch.arange(4.0)
    World(size=2).total_gradients(parameters)
    assert torch.equal(parameters[0].grad, 3 * torch.arange(6.0).view(2, 3))
    assert torch.equal(parameters[1].grad, -3 * torch.arange(4.0))
    assert parameters[2].grad is None


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


def test_under_nccl_the_gpu_is_chosen_before_the_processes_join(monkeypatch):
    """There is no GPU here: this checks the order and the arguments of the calls."""
    calls = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda place: calls.append(("current", place)))
    monkeypatch.setattr(
        torch.distributed, "init_process_group", lambda backend, device_id: calls.append((backend, device_id))
    )
    for name, value in {"get_rank": 1, "get_world_size": 2, "barrier": None, "destroy_process_group": None}.items():
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    gpu = torch.device("cuda", 1)
    with joined("cuda") as world:
        assert world == World(1, 2, gpu)
    assert calls == [("current", gpu), ("nccl", gpu)]


@pytest.mark.parametrize(("variable", "text"), [("RANK", "first"), ("RANK", "-1"), ("WORLD_SIZE", "0"), ("RANK", "")])
def test_an_environment_that_torchrun_did_not_make_is_refused(monkeypatch, variable, text):
    monkeypatch.setenv(variable, text)
    with pytest.raises(ConfigError, match=f"{variable} is '{text}'"):
        announced_rank(), announced_size()
