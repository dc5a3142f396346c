"""A tensor as the compiled scans see it: where it lies, and its steps in floats."""

import torch

from somamba.native.structures import Strided


def test_a_slice_is_described_where_it_lies():
    room = torch.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    view = Strided.of(room[:, 1:, ::2])
    assert (view.batch, view.token, view.head) == (60, 20, 10)
    assert view.data[view.batch + view.token + view.head + 1] == room[1, 2, 2, 1]
