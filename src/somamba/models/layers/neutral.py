"""Layers that change nothing at their start, so that weights from before they were there may lack their own."""

from torch import nn


class Neutral(nn.Module):
    """A layer that changes nothing at its start: weights from before it was there may lack its own."""


def neutral_names(model: nn.Module) -> set[str]:
    """The names of the weights of all neutral layers of a model."""
    layers = [(name, part) for name, part in model.named_modules() if isinstance(part, Neutral)]
    return {f"{name}.{own}" for name, part in layers for own in part.state_dict()}
