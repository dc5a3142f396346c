"""Records of weights become a flat list of tensors and come back; sums of workers are cut where kernels put them."""

import pytest
import torch

from models.small import SMALL
from native.machine import needs_native
from somamba.errors import BackendError
from somamba.models.so_mamba.unit import Unit
from somamba.native.weights import fold, leaves, with_leaves


def records():
    module = Unit(SMALL, "rows")
    return module.router.weights(module.norm), module.block.weights()


def test_all_parameters_are_leaves():
    """The outlet's last layer and W_o come as products; every other parameter comes as it is."""
    module = Unit(SMALL, "rows")
    route, stream = module.router.weights(module.norm), module.block.weights()
    found = {id(leaf) for leaf in (*leaves(route), *leaves(stream))}
    missing = {name for name, parameter in module.named_parameters() if id(parameter) not in found}
    folded = ("outlet.narrow.weight", "outlet.narrow.bias", "merge.weight", "merge.bias")
    assert missing == {f"block.{name}" for name in folded}


def test_other_tensors_take_the_same_places():
    for record in records():
        numbered = with_leaves(record, [torch.tensor(float(i)) for i, _ in enumerate(leaves(record))])
        assert [int(leaf) for leaf in leaves(numbered)] == list(range(len(leaves(record))))
        assert numbered.norm_eps == record.norm_eps


@needs_native
def test_parts_start_at_multiples_of_sixteen():
    sums = torch.stack([torch.arange(64.0), torch.ones(64)])
    first, second, third = fold(sums, [(3,), (4, 5), (1,)])
    assert first.tolist() == [1, 2, 3]
    assert second.tolist() == (torch.arange(16.0, 36.0) + 1).view(4, 5).tolist()
    assert third.tolist() == [49]


@needs_native
def test_another_number_than_expected_is_refused():
    with pytest.raises(BackendError, match="sum 64 numbers, but 32 are expected"):
        fold(torch.zeros(2, 64), [(3,), (16,)])
