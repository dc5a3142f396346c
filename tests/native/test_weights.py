"""Records of weights become a flat list of tensors and come back from one."""

import torch

from models.small import SMALL
from somamba.models.so_mamba.unit import Unit
from somamba.native.weights import leaves, with_leaves


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
