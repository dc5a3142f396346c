"""Sums of workers are added and cut where the kernels put them."""

import pytest
import torch

from native.machine import needs_native
from somamba.errors import BackendError
from somamba.native.sums import fold

pytestmark = needs_native


def test_parts_start_at_multiples_of_sixteen():
    sums = torch.stack([torch.arange(64.0), torch.ones(64)])
    first, second, third = fold(sums, [(3,), (4, 5), (1,)])
    assert first.tolist() == [1, 2, 3]
    assert second.tolist() == (torch.arange(16.0, 36.0) + 1).view(4, 5).tolist()
    assert third.tolist() == [49]


def test_another_number_than_expected_is_refused():
    with pytest.raises(BackendError, match="sum 64 numbers, but 32 are expected"):
        fold(torch.zeros(2, 64), [(3,), (16,)])
