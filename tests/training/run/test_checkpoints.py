"""The optimiser comes back as it was, or not at all; and which weights a run may start from."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from somamba.errors import InputError
from somamba.inference.weights.checkpoint import Checkpoint, TrainingState, save_checkpoint
from somamba.models.layers.neutral import neutral_names
from somamba.models.so_mamba.config import Routes
from somamba.models.so_mamba.model import SOMamba
from somamba.training.recipe import recorded
from somamba.training.run.checkpoints import load_optimiser, optimiser_tensors, progress_of, resume_run, start_from
from training.tiny import small_network, tiny_recipe


def stepped(steps):
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1)
    for step in range(steps):
        optimiser.zero_grad()
        (model(torch.ones(1, 3)).sum() * (step + 1)).backward()
        optimiser.step()
    return model, optimiser


def test_an_optimiser_that_was_stored_takes_the_same_step():
    model, optimiser = stepped(2)
    copy, fresh = stepped(0)
    copy.load_state_dict(model.state_dict())
    stored = {name: tensor.clone() for name, tensor in optimiser_tensors(model, optimiser).items()}
    load_optimiser(copy, fresh, stored, source="x")
    for one, its in ((model, optimiser), (copy, fresh)):
        its.zero_grad()
        one(torch.arange(3.0)[None]).sum().backward()
        its.step()
    assert copy.weight.equal(model.weight)


@pytest.mark.parametrize("spoil", [{"exp_avg/other": torch.zeros(2, 3)}, {"exp_avg/weight": torch.zeros(3, 2)}])
def test_a_memory_that_does_not_fit_is_refused(spoil):
    model, optimiser = stepped(1)
    with pytest.raises(InputError, match="does not fit the model"):
        load_optimiser(model, optimiser, optimiser_tensors(model, optimiser) | spoil, source="x")


def test_a_checkpoint_without_optimiser_cannot_be_resumed(data, tmp_path):
    model, optimiser = stepped(0)
    recipe = tiny_recipe(data)
    save_checkpoint(tmp_path / "best", Checkpoint(model.state_dict(), {"recipe": recorded(recipe)}))
    with pytest.raises(InputError, match="weights only"):
        resume_run(tmp_path / "best", model, optimiser, None, recipe, {})


@pytest.mark.parametrize(
    "added",
    [{"weighted_samples": True}, *({"routes": Routes(residency=kind)} for kind in ("learned_unit", "learned_token"))],
    ids=str,
)
def test_a_run_may_start_from_weights_that_lack_a_layer_which_changes_nothing_yet(added, tmp_path):
    config = replace(small_network(), consistency="proximal")
    old, new = SOMamba(config), SOMamba(replace(config, **added))
    save_checkpoint(tmp_path / "old", Checkpoint(old.state_dict(), {}))
    before = {name: value.clone() for name, value in new.state_dict().items()}
    start_from(tmp_path / "old", new)
    found = new.state_dict()
    assert all(found[name].equal(value) for name, value in old.state_dict().items())
    assert all(found[name].equal(before[name]) for name in neutral_names(new))
    lacking = {name: value for name, value in old.state_dict().items() if "decode" not in name}
    save_checkpoint(tmp_path / "lacking", Checkpoint(lacking, {}))
    with pytest.raises(InputError, match=r"decode\.norm\.bias is missing"):
        start_from(tmp_path / "lacking", new)


@pytest.mark.parametrize(
    "values",
    [{"step": "3"}, {"step": -1}, {"step": 1.5}, {"step": True}, {"best": "x"}, {"scores": [1]}, {"seconds": None}],
)
def test_a_progress_of_other_types_is_refused(values):
    with pytest.raises(InputError, match=f"damaged: training.json has {next(iter(values))}="):
        progress_of(TrainingState({}, values), source="x")


def test_a_progress_with_fields_of_another_version_is_refused():
    with pytest.raises(InputError, match="another version"):
        progress_of(TrainingState({}, {"pace": 1}), source="x")
    assert progress_of(TrainingState({}, {"step": 3, "best": None, "scores": {"psnr": 30.5}}), source="x").step == 3
