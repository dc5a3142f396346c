"""The optimiser of a step: who is decayed, and whose memory is whose."""

import torch

from somamba.models.so_mamba.model import SOMamba
from somamba.training.checkpoints import load_optimiser, optimiser_tensors
from somamba.training.recipe import Optimiser
from somamba.training.step import make_optimiser
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
