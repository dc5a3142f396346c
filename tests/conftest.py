"""Shared fixtures: one seeded generator, small shapes, the folder with real scans."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

# The tensors of the tests are small: threads would only wait for each other. Tests about threads ask for them.
torch.set_num_threads(1)


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


SAMPLE = Path(__file__).parents[1] / "src" / "somamba" / "samples" / "brain_13coil.npz"


@pytest.fixture(scope="session")
def sample() -> torch.Tensor:
    """The real scan of a head that the package ships: centred k-space, (coils, y, x)."""
    with np.load(SAMPLE, allow_pickle=False) as file:
        return torch.view_as_complex(torch.from_numpy(file["kspace"].astype(np.float32)))


@pytest.fixture(scope="session")
def scanner_file(sample: torch.Tensor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same scan as a scanner's software wrote it: the zero frequency comes first, values are near 1e-7."""
    path = tmp_path_factory.mktemp("scanner") / "brain_13coil.npy"
    # Moving the zero frequency to the front turns every second sample; that keeps the object in the middle.
    first = torch.fft.ifftshift(sample, dim=(-2, -1))
    signs = 1 - 2 * (torch.arange(224) % 2)
    np.save(path, (first * signs[:, None] * signs * 1e-10).numpy())
    return path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real scans, named by ``SOMAMBA_DATA``; tests that need it skip if it is not set."""
    folder = os.environ.get("SOMAMBA_DATA")
    if not folder:
        pytest.skip("SOMAMBA_DATA is not set: point it at the folder that holds bart/ and raw_kspace/")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"SOMAMBA_DATA={folder} is not a folder")
    return path
