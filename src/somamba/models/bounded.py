"""A network is built only as large as allowed: a size that is a slip, or hostile, ends before it takes memory."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules import module

from somamba.errors import ConfigError

MOST_PARAMETERS = 2 * 10**9
"""Larger than any network here could be trained: 8 GB of weights."""
MOST_TENSORS = 100_000
"""More weights and biases than any network here has; a deeper one would take minutes to build."""


class NetworkSizeError(ConfigError):
    """A config asks for a larger network than allowed."""


@contextmanager
def at_most(parameters: int = MOST_PARAMETERS, tensors: int = MOST_TENSORS, *, source: str) -> Iterator[None]:
    """Inside, building a network ends with an error as soon as it exceeds these numbers.

    Args:
        parameters: Most numbers in all parameters together.
        tensors: Most parameters.
        source: What asks for the network, for the message.
    """
    numbers = count = 0

    def counted(_module: nn.Module, _name: str, parameter: nn.Parameter | None) -> None:
        nonlocal numbers, count
        if parameter is not None:
            numbers, count = numbers + parameter.numel(), count + 1
        if numbers > parameters or count > tensors:
            raise NetworkSizeError(
                f"{source} asks for a network of more than {min(numbers, parameters):,} parameters in "
                f"{min(count, tensors):,} tensors, which is more than can be built; lower its sizes."
            )

    hook = module.register_module_parameter_registration_hook(counted)
    try:
        yield
    except (RuntimeError, MemoryError, OverflowError) as error:
        if isinstance(error, torch.OutOfMemoryError | MemoryError | OverflowError) or "memory" in str(error):
            raise NetworkSizeError(
                f"{source} asks for a network that is too large for this machine: {error}"
            ) from error
        raise
    finally:
        hook.remove()
