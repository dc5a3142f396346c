"""A pattern of samples knows its acceleration, its centre, and whether another one is the same."""

import dataclasses
import math

import pytest
import torch

from somamba.errors import InputError
from somamba.physics.masks import equispaced
from somamba.physics.sampling_mask import SamplingMask


def test_calibration_counts_the_full_columns_around_the_centre():
    columns = torch.tensor([[1, 0, 1, 1, 1, 1, 0, 1]]).bool()
    assert SamplingMask(columns, "given", 1).calibration == 4
    assert SamplingMask(torch.tensor([[0, 0, 1, 1, 0, 0, 0, 1]]).bool(), "given", 1).calibration == 0
    assert SamplingMask(columns.expand(3, 8), "given", 1).calibration == 4
    holed = columns.repeat(3, 1)
    holed[1, 3] = False
    assert SamplingMask(holed, "given", 1).calibration == 2


def test_acceleration_can_be_counted_over_what_was_acquired_at_all():
    mask = SamplingMask(torch.tensor([[0, 0, 1, 0, 1, 1, 0, 0]]).bool(), "given", 2)
    assert mask.realised_acceleration == pytest.approx(8 / 3)
    assert mask.acceleration_over(columns=slice(2, 6), rows=slice(5, 9)) == pytest.approx(4 / 3)
    assert mask.acceleration_over(columns=slice(0, 2)) == math.inf
    block = SamplingMask(torch.eye(4, dtype=torch.bool), "given", 4)
    assert block.acceleration_over(rows=slice(0, 2), columns=slice(0, 2)) == 2


def test_equality_and_digest_depend_on_the_pattern_alone():
    mask = equispaced(64, 4)
    renamed = dataclasses.replace(mask, kind="other", acceleration=3)
    assert renamed == mask
    assert hash(renamed) == hash(mask)
    reshaped = SamplingMask(mask.pattern.reshape(8, 8), mask.kind, mask.acceleration)
    assert reshaped != mask
    assert reshaped.digest != mask.digest


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        (torch.zeros(1, 4, dtype=torch.bool), "Empty mask"),
        (torch.ones(4, dtype=torch.bool), r"got torch\.bool \(4,\)"),
        (torch.ones(1, 4), r"got torch\.float32"),
    ],
)
def test_what_is_no_pattern_is_refused(pattern, complaint):
    with pytest.raises(InputError, match=complaint):
        SamplingMask(pattern, "given", 1)
