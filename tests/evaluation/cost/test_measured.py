"""Time and memory of inferences: every network asked for, really run, with nothing at zero."""

import pytest
import torch

from models.small import SMALL
from somamba.evaluation.cost.measured import awake, inference, measure_inference, random_measurement
from somamba.evaluation.cost.memory import CLEAR
from somamba.models.so_mamba.model import SOMamba


def test_no_parameter_is_left_at_zero():
    model = SOMamba(SMALL)
    assert any(not parameter.any() for parameter in model.parameters())
    assert all(parameter.any() for parameter in awake(model).parameters())


def test_an_inference_reconstructs_a_measurement_of_the_size_asked_for():
    y, A = random_measurement((12, 20))
    assert y.shape == (1, 1, 12, 20)
    torch.testing.assert_close(inference(awake(SOMamba(SMALL)), (12, 20))().shape, A.adjoint(y).shape)


@pytest.mark.skipif(not CLEAR.exists(), reason="memory is measured on Linux only")
def test_every_network_is_measured():
    told = []
    found = measure_inference(
        ["zero_filled", "unet"], (32, 40), repeats=1, on_progress=lambda *where: told.append(where)
    )
    assert told == [(done, 6) for done in range(1, 7)]
    assert list(found) == ["zero_filled", "unet"]
    assert 0 < found["zero_filled"].seconds < found["unet"].seconds
    assert found["unet"].megabytes >= 0
