"""Compare SO-Mamba with compiled units and without; test_model.py runs this in a process of its own."""

from dataclasses import replace

import torch

from models.small import SMALL, gradients, measure, perturb
from promises import relative_error
from somamba.models.so_mamba.model import SOMamba


def build():
    torch.manual_seed(0)
    return perturb(SOMamba(replace(SMALL, groups=1, units=1)))


def main():
    y, A = measure(batch=1)
    plain, compiled = build(), build()
    parts = compiled.parts_to_compile()
    assert [type(part).__name__ for part in parts] == ["Unit"]
    for part in parts:
        part.compile(backend="aot_eager")  # Captures and differentiates as on a GPU; makes no code.
    (image, found), (expected, wanted) = gradients(compiled, y, A), gradients(plain, y, A)
    assert relative_error(image, expected) < 1e-5
    for name, gradient in wanted.items():
        assert relative_error(found[name], gradient) < 1e-3, name
    assert compiled.state_dict().keys() == plain.state_dict().keys()
    assert torch._dynamo.utils.counters["stats"]["calls_captured"] > 0


if __name__ == "__main__":
    main()
