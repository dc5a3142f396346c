"""The machine as a variable: number of threads, instruction set, kernels or none."""

from collections.abc import Callable, Iterator

import pytest
import torch

from somamba.errors import BackendError
from somamba.native import library
from somamba.scan.backends import BACKENDS
from somamba.scan.selective.backends import BACKENDS as SELECTIVE

needs_native = pytest.mark.skipif(library.why_not() is not None, reason=f"compiled kernels: {library.why_not()}")

INSTRUCTION_SETS = ("avx512bf16", "avx512", "avx2", "base")


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets PyTorch's number of threads for one test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def instruction_set() -> Iterator[Callable[[str], None]]:
    """Switches the kernels to another instruction set for one test; skips where the machine lacks it."""
    before = library.instruction_set()

    def use(name: str) -> None:
        try:
            library.use_instruction_set(name)
        except BackendError:
            pytest.skip(f"this machine has no {name}")

    yield use
    library.use_instruction_set(before)


@pytest.fixture
def without_native(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For one test, the compiled kernels are as if never built."""
    monkeypatch.setattr(library, "_load", lambda: (None, "a test hides them"))
    forget_choices()
    yield
    forget_choices()


def forget_choices() -> None:
    """Let ``auto`` look at the machine again."""
    BACKENDS.automatic.cache_clear()
    SELECTIVE.automatic.cache_clear()
