"""The scan as a module is the scan, and a place for hooks."""

import torch

from scan.made import random_arguments, to
from somamba.scan.backends import scan
from somamba.scan.inputs import ScanInputs
from somamba.scan.module import Scan


def test_it_runs_the_named_backend_and_learns_nothing():
    inputs = ScanInputs(**to(random_arguments(), torch.float32))
    module = Scan("chunked")
    assert torch.equal(module(inputs), scan(inputs, backend="chunked").readout)
    assert not module.state_dict()
    assert "backend='chunked'" in repr(module)


def test_a_hook_sees_what_goes_in_and_what_comes_out():
    inputs = ScanInputs(**to(random_arguments(), torch.float32))
    module, seen = Scan(), []
    module.register_forward_hook(lambda _module, args, out: seen.append((args[0], out)))
    out = module(inputs)
    assert seen[0][0] is inputs
    assert seen[0][1] is out
