"""Shared fixtures: one seeded generator, small shapes, the folder with real scans."""

import os
from pathlib import Path

import pytest
import torch

# The tensors of the tests are small: threads would only wait for each other. Tests about threads ask for them.
torch.set_num_threads(1)


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real scans, named by ``SOMAMBA_DATA``; tests that need it skip where it is unset."""
    folder = os.environ.get("SOMAMBA_DATA")
    if not folder:
        pytest.skip("SOMAMBA_DATA is not set: point it at the folder that holds bart/ and raw_kspace/")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"SOMAMBA_DATA={folder} is not a folder")
    return path
