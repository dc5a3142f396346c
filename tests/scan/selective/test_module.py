"""The selective scan as a module is the scan, and a place for hooks."""

import torch

from scan.made import to
from scan.selective.made import random_arguments
from somamba.scan.selective.backends import selective_scan
from somamba.scan.selective.inputs import SelectiveInputs
from somamba.scan.selective.module import SelectiveScan


def test_it_runs_the_named_backend_and_learns_nothing():
    inputs = SelectiveInputs(**to(random_arguments(), torch.float32))
    module = SelectiveScan("chunked")
    assert torch.equal(module(inputs), selective_scan(inputs, backend="chunked").readout)
    assert not module.state_dict()
    assert "backend='chunked'" in repr(module)


def test_a_hook_sees_what_goes_in_and_what_comes_out():
    inputs = SelectiveInputs(**to(random_arguments(), torch.float32))
    module, seen = SelectiveScan(), []
    module.register_forward_hook(lambda _module, args, out: seen.append((args[0], out)))
    out = module(inputs)
    assert seen[0][0] is inputs
    assert seen[0][1] is out
