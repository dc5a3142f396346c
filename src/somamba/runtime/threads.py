"""How many CPU threads PyTorch and the compiled kernels use."""

import torch

from somamba.errors import ConfigError

MOST_THREADS = 4096
"""More than any machine has; a larger number is a slip of the pen, and some libraries crash on it."""


def use_threads(count: int | None) -> None:
    """Let this process compute with so many threads; None leaves PyTorch's choice.

    Raises:
        ConfigError: the number is not between 1 and `MOST_THREADS`.
    """
    if count is None:
        return
    if not 1 <= count <= MOST_THREADS:
        raise ConfigError(f"threads={count}; choose 1 to {MOST_THREADS}, or leave it out for PyTorch's choice.")
    torch.set_num_threads(count)
