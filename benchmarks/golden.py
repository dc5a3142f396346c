"""Compare a scan backend with a file of the official reference's inputs, outputs and gradients.

python benchmarks/golden.py FILE.npz --backend reference|chunked|native|fused [--dtype float64|float32]

Prints the largest error of the output and of each gradient, relative to the largest magnitude of the expected array.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from somamba.scan.backends import BACKENDS, scan
from somamba.scan.inputs import ScanInputs

TOKENS_LAST = ("dt", "adt", "trap")  # (batch, heads, tokens) in the files, (batch, tokens, heads) here


def load(path: Path, dtype: torch.dtype) -> tuple[dict[str, Tensor], dict[str, Tensor], Tensor]:
    """Return the scan's arguments as leaves, the expected ``out`` and gradients, and the cotangent."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: torch.from_numpy(file[name]) for name in file.files if file[name].ndim}
    for name in [*TOKENS_LAST, *(f"grad_{n}" for n in TOKENS_LAST)]:
        arrays[name] = arrays[name].transpose(1, 2).contiguous()
    names = ScanInputs.__dataclass_fields__
    leaves = {name: arrays[name].to(dtype).requires_grad_() for name in names}
    expected = {"out": arrays["out"], **{name: arrays[f"grad_{name}"] for name in names}}
    return leaves, expected, arrays["dout"].to(dtype)


def errors(path: Path, backend: str, dtype: torch.dtype) -> dict[str, float]:
    """Largest relative error of the output and of each gradient."""
    leaves, expected, cotangent = load(path, dtype)
    out = scan(ScanInputs(**leaves), backend=backend).readout
    out.backward(cotangent)
    found = {"out": out.detach()} | {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    return {
        name: float((found[name].double() - wanted).abs().max() / wanted.abs().max())
        for name, wanted in expected.items()
    }


def main() -> None:
    """Parse, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--backend", choices=list(BACKENDS), default="reference")
    parser.add_argument(
        "--dtype", choices=["float32", "float64"], help="default: float64; float32 for native and fused"
    )
    options = parser.parse_args()
    single = options.backend in ("native", "fused")
    dtype = getattr(torch, options.dtype or ("float32" if single else "float64"))
    for path in options.files:
        print(f"{path.name}, backend {options.backend}, {dtype}")
        for name, error in errors(path, options.backend, dtype).items():
            label = name if name == "out" else f"grad {name}"
            print(f"  {label:<12} {error:.2e}")


if __name__ == "__main__":
    main()
