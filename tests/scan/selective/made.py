"""Random arguments of a selective scan, and what a backend makes of them."""

from functools import partial

import torch
from torch.nn.functional import softplus

from scan import made
from scan.made import Arguments, drawers, to
from somamba.scan.selective.inputs import SelectiveInputs

DECAYS = ("normal", "strong", "near_zero", "constant_3e-8")
SHAPES = (
    {"channels": 1, "n": 1},
    {"channels": 7, "n": 4, "batch": 2},
    {"channels": 16, "n": 16},
    {"channels": 40, "n": 16, "batch": 3},
    {"channels": 40, "n": 4, "groups": 2},
    {"channels": 40, "n": 1, "groups": 4},
    {"channels": 28, "n": 7, "groups": 4, "batch": 2},
    {"channels": 72, "n": 20, "groups": 2, "batch": 2},
    {"channels": 7, "n": 16, "groups": 7},
)


def random_arguments(
    *,
    batch: int = 1,
    tokens: int = 20,
    channels: int = 6,
    n: int = 4,
    groups: int = 1,
    decay: str = "normal",
    seed: int = 0,
) -> Arguments:
    """Float64 tensors whose values float32 holds exactly, so that both precisions are asked the same question."""
    normal, uniform = drawers(seed)
    sequence, interface = (batch, tokens, channels), (batch, tokens, groups, n)
    dt, rates = {
        "normal": lambda: (softplus(normal(*sequence) - 2), -0.05 - 4 * uniform(channels, n)),
        "strong": lambda: (uniform(*sequence), -50 * uniform(channels, n)),  # dt A down to -50
        "near_zero": lambda: (softplus(normal(*sequence) - 2), -(10 ** (-8 + 3 * uniform(channels, n)))),
        "constant_3e-8": lambda: (torch.full(sequence, 0.125), torch.full((channels, n), -2.4e-7)),
    }[decay]()
    arguments = {
        "u": normal(*sequence),
        "dt": dt,
        "A": rates,
        "B": normal(*interface),
        "C": normal(*interface),
        "D": normal(channels),
    }
    return to(arguments, torch.float32, torch.float64)


cotangent_of = partial(made.cotangent_of, like="u")
differentiate = partial(made.differentiate, record=SelectiveInputs)
