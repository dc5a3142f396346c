"""Seconds and memory of one inference with each of several networks, measured on this machine.

The networks run in turn on random measurements of the same size, the best of several counts. Memory is what one
inference adds to the resident set of a process of its own at its peak, weights not counted.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from somamba.evaluation.cost.memory import added_megabytes, can_weigh, in_child
from somamba.evaluation.cost.timing import alternate
from somamba.models.base import Reconstructor
from somamba.models.zoo import build
from somamba.physics.encoding import encoding
from somamba.physics.masks import make_mask
from somamba.physics.operator import LinearOperator

SMALL = (32, 32)
"""A first inference of this size makes libraries load what they need, before memory is measured."""

Network = TypeVar("Network", bound=nn.Module)
Result = TypeVar("Result")


class InferenceCost(NamedTuple):
    """Time and memory of one inference with one network."""

    seconds: float
    megabytes: float
    """Peak memory added by one inference, in MB; 0 on systems other than Linux, which do not report it."""


def awake(model: Network) -> Network:
    """The network with every parameter that starts at zero moved away from it, so that every branch computes."""
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if not parameter.any():
            nn.init.normal_(parameter, std=0.02, generator=generator)
    return model


def random_measurement(size: tuple[int, int]) -> tuple[Tensor, LinearOperator]:
    """A random image, undersampled four times."""
    A = encoding(make_mask("equispaced", shape=size, acceleration=4).tensor())
    image = torch.randn(1, 1, *size, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    return A(image), A


def inference(model: Reconstructor, size: tuple[int, int]) -> Callable[[], Tensor]:
    """A function that makes one reconstruction."""
    y, A = random_measurement(size)

    def task() -> Tensor:
        with torch.inference_mode():
            return model.eval()(y, A)

    return task


def memory_of(name: str, size: tuple[int, int]) -> float:
    """Megabytes that one inference adds to this process, which should have done nothing else before."""
    model = awake(build(name))
    inference(model, SMALL)()
    return added_megabytes(inference(model, size))


def measure_inference(
    names: Sequence[str],
    size: tuple[int, int],
    *,
    repeats: int = 3,
    on_progress: Callable[[int, int], None] = lambda _done, _count: None,
) -> dict[str, InferenceCost]:
    """Time the networks in turn, then measure the memory of each in a child process; threads are those of this process.

    Args:
        names: Names of the networks.
        size: Height and width of the image.
        repeats: Number of timed inferences with each network; the fastest counts.
        on_progress: Called after every inference with the number done and the number of all.
    """
    weighable = can_weigh()
    done, total = count(1), len(names) * (repeats + 1 + weighable)  # One round warms up, another one measures memory.

    def told(task: Callable[[], Result]) -> Callable[[], Result]:
        def run() -> Result:
            result = task()
            on_progress(next(done), total)
            return result

        return run

    seconds = alternate({name: told(inference(awake(build(name)), size)) for name in names}, repeats)
    code = "from somamba.evaluation.cost.measured import memory_of; print(memory_of({!r}, {!r}))"
    weigh = {name: told(partial(in_child, code.format(name, size), torch.get_num_threads())) for name in names}
    return {name: InferenceCost(seconds[name], weigh[name]() if weighable else 0.0) for name in names}
