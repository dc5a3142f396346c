"""What the tests of several backends share."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from native.machine import instruction_set, threads, without_native  # noqa: F401
from scan.made import Arguments, golden_case


@pytest.fixture
def golden(shared_data: Path) -> Callable[[str], tuple[Arguments, torch.Tensor, Arguments]]:
    """Reads a golden file by name."""
    return lambda name: golden_case(shared_data.parent / "golden", name)
