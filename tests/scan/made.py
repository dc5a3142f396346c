"""Random scan arguments, golden files, and the question every backend is asked: same output, same gradients?"""

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import numpy as np
import pytest
import torch
from torch import Tensor

from promises import relative_error
from somamba.scan.inputs import ScanInputs, ScanOutput

Arguments = dict[str, Tensor]
Record = TypeVar("Record")
Run = Callable[..., ScanOutput]
Drawer = Callable[..., Tensor]

GOLDEN_FOLDER = Path(__file__).parents[1] / "data" / "golden"
GOLDEN = ("mamba3_mimo_small", "mamba3_mimo_paper_shape", "mamba3_mimo_full_rotary")
HEADS_FIRST = ("dt", "adt", "trap")
"""Arguments that the golden files and the official kernel hold as (batch, heads, tokens)."""


def drawers(seed: int) -> tuple[Drawer, Drawer]:
    """Two functions that draw float64 numbers of a shape, normally distributed and uniformly, from one stream."""
    rng = torch.Generator().manual_seed(seed)
    return (
        lambda *shape: torch.randn(shape, generator=rng, dtype=torch.float64),
        lambda *shape: torch.rand(shape, generator=rng, dtype=torch.float64),
    )


def random_arguments(
    *,
    batch: int = 1,
    tokens: int = 20,
    heads: int = 2,
    p: int = 8,
    n: int = 8,
    rank: int = 2,
    groups: int = 1,
    angles: int = 2,
    decay: str = "normal",
    seed: int = 0,
) -> Arguments:
    """Float64 tensors whose values float32 holds exactly, so that both precisions are asked the same question."""
    normal, uniform = drawers(seed)
    per_token = (batch, tokens, heads)
    dt = torch.nn.functional.softplus(normal(*per_token) - 2)
    log_decay = {
        "normal": lambda: -dt * (0.05 + normal(*per_token).abs()),
        "strong": lambda: -50 * uniform(*per_token),
        "near_zero": lambda: -(10 ** (-9 + 3 * uniform(*per_token))),
        "constant_3e-8": lambda: torch.full(per_token, -3e-8, dtype=torch.float64),
    }[decay]()
    arguments = {
        "C": normal(batch, tokens, rank, groups, n),
        "B": normal(batch, tokens, rank, groups, n),
        "x": normal(*per_token, p),
        "z": normal(*per_token, p),
        "C_bias": normal(heads, rank, n),
        "B_bias": normal(heads, rank, n),
        "mimo_x": normal(heads, rank, p) / rank,
        "mimo_z": normal(heads, rank, p),
        "mimo_o": normal(heads, rank, p) / rank,
        "D": normal(heads),
        "angles": normal(*per_token, angles),
        "dt": dt,
        "adt": log_decay,
        "trap": normal(*per_token),
    }
    return to(arguments, torch.float32, torch.float64)


def to(arguments: Arguments, *dtypes: torch.dtype) -> Arguments:
    """Convert all, one type after the other."""
    for dtype in dtypes:
        arguments = {name: tensor.to(dtype) for name, tensor in arguments.items()}
    return arguments


def exchange(inputs: Record, **tensors: Tensor) -> Record:
    """Put other tensors into a record, also such that do not fit: the shape checker sees constructors only."""
    for name, tensor in tensors.items():
        object.__setattr__(inputs, name, tensor)
    return inputs


def cotangent_of(arguments: Arguments, seed: int = 1, *, like: str = "x") -> Tensor:
    """A gradient to send back; its values too are held exactly by float32."""
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(arguments[like].shape, generator=rng).double()


def differentiate(
    run: Run, arguments: Arguments, cotangent: Tensor, *, record: Callable[..., object] = ScanInputs
) -> Arguments:
    """The read-out under ``out``, and the gradient of every argument under its name."""
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in arguments.items()}
    out = run(record(**leaves)).readout
    gradients = torch.autograd.grad(out, list(leaves.values()), cotangent.to(out.dtype))
    return {"out": out.detach(), **dict(zip(leaves, gradients, strict=True))}


def forget_single_turn(result: Arguments, oracle: Arguments, tolerance: float) -> None:
    """Take out the gradient of a lone token's angle: written and read at one angle, it is nothing but rounding."""
    assert result.pop("angles").abs().sum() <= tolerance * oracle["dt"].abs().sum()
    oracle.pop("angles")


def agrees(result: Arguments, oracle: Arguments, *, out: float, gradient: float, angles: float | None = None) -> None:
    """Assert that nothing is off by more than its tolerance; says everything that is."""
    tolerances = dict.fromkeys(oracle, gradient) | {"out": out, "angles": gradient if angles is None else angles}
    errors = {name: relative_error(result[name], oracle[name]) for name in oracle}
    wrong = {
        name: f"{errors[name]:.1e} > {tolerances[name]:g}" for name in oracle if not errors[name] <= tolerances[name]
    }
    assert not wrong, wrong


def stand_in(monkeypatch: pytest.MonkeyPatch, path: str, function: Callable[..., Tensor]) -> None:
    """Let a function stand where one of its name would be imported from, in a package that is not installed."""
    parts = path.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None, is_package=depth < len(parts))
        if depth < len(parts):
            module.__path__ = []
        else:
            setattr(module, function.__name__, function)
        monkeypatch.setitem(sys.modules, name, module)


def golden_case(name: str) -> tuple[Arguments, Tensor, Arguments]:
    """Arguments, cotangent and expected results of one file of the official PyTorch reference, in our axes."""
    with np.load(GOLDEN_FOLDER / f"{name}.npz", allow_pickle=False) as file:
        arrays = {key: torch.from_numpy(file[key]) for key in file.files}
    for key in HEADS_FIRST:
        arrays[key], arrays[f"grad_{key}"] = arrays[key].transpose(1, 2), arrays[f"grad_{key}"].transpose(1, 2)
    names = [key.removeprefix("grad_") for key in arrays if key.startswith("grad_")]
    expected = {"out": arrays["out"]} | {key: arrays[f"grad_{key}"] for key in names}
    return {key: arrays[key] for key in names}, arrays["dout"], expected
