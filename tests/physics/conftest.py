"""Arrays made by another program, and a real scan."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch


@pytest.fixture(scope="session")
def bart(shared_data: Path) -> Callable[[str], torch.Tensor]:
    """Reads an array of BART as (batch, coils, y, x): complex64, first axis fastest, its lengths in the header."""

    def read(name: str) -> torch.Tensor:
        path = shared_data / "bart" / name
        dims = [int(n) for n in path.with_suffix(".hdr").read_text().splitlines()[1].split()][:4]
        values = np.fromfile(path.with_suffix(".cfl"), np.complex64).reshape(dims, order="F")
        return torch.from_numpy(np.ascontiguousarray(values.transpose(2, 3, 0, 1)))

    return read


@pytest.fixture(scope="session")
def brain(sample: torch.Tensor) -> torch.Tensor:
    """The real 13-coil scan at half resolution, which keeps its noise and its coils."""
    return sample[None, :, 56:168, 56:168].contiguous()
