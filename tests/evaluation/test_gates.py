"""The gates that are read are those of the checkpoint, unit by unit in the order in which they run."""

import numpy as np
import pytest

from inference.checkpoints import save_tiny
from models.small import SMALL
from somamba.errors import InputError
from somamba.evaluation.gates import read_gates
from somamba.inference.weights.trained import open_model


def save(folder, name, groups=2):
    """A small network of this name with weights that are not where they started."""
    return open_model(str(save_tiny(folder, model=name, groups=groups, units=2))).model


@pytest.mark.parametrize(("name", "width"), [("residency_channel", SMALL.d_model), ("residency_unit", 1)])
def test_gates_by_channel_and_by_unit(name, width, tmp_path):
    model = save(tmp_path, name)
    found = read_gates(tmp_path)
    assert (found.method, found.seed, found.epochs, found.offsets) == (name, 0, 1.0, None)
    assert found.units == ((1, 1), (1, 2), (2, 1), (2, 2))
    assert found.values.shape == (4, width)
    for (group, unit), values in zip(found.units, found.values, strict=True):
        gate = model.groups[group - 1].units[unit - 1].block.residency.gate
        np.testing.assert_array_equal(values, gate.detach().numpy())


def test_gates_by_token_have_weights_and_a_constant(tmp_path):
    model = save(tmp_path, "residency_token", groups=11)
    found = read_gates(tmp_path)
    assert found.units[-1] == (11, 2)
    last = model.groups[10].units[1].block.residency.project
    np.testing.assert_array_equal(found.values[-1], last.weight.detach().numpy()[0])
    assert found.offsets[-1] == last.bias.item()


def test_a_network_without_gates_is_refused(tmp_path):
    save(tmp_path, "so_mamba")
    with pytest.raises(InputError, match=r"\(so_mamba\) has no learned residency"):
        read_gates(tmp_path)
