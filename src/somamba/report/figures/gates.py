"""The gates of learned residency by unit and channel: how much of the evidence G each unit admits to its content."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from somamba.report.figures.canvas import LETTERS, caption, new_figure, plain
from somamba.report.names import method_name

WORDS = (
    "Rows are the units in the order in which they run, columns the channels of G. Colour is the gate g of L + g G: "
    "0 is the paper's contract, 1 admits the channel in full."
)
BY_TOKEN = " For gates by token, g = w · norm(G) + b: colour is w, and b stands at the unit."


def gates_figure(networks: Sequence[Any]) -> Any:
    """Draw one panel for each network, all in one range of colours that is symmetric about zero.

    Args:
        networks: Their gates as `somamba.evaluation.gates.read_gates` returns them.
    """
    rows = sum(len(network.units) for network in networks)
    figure = new_figure(9.5, 1.2 + 0.8 * len(networks) + 0.25 * rows)
    heights = [len(network.units) for network in networks]
    panels = figure.subplots(len(networks), 1, squeeze=False, height_ratios=heights)[:, 0]
    largest = max(float(np.abs(network.values).max()) for network in networks) or 1.0
    for axes, network in zip(panels, networks, strict=True):
        image = axes.imshow(network.values, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
        axes.set_title(
            plain(f"{method_name(network.method)}, seed {network.seed}, {network.epochs:.3g} epochs"), fontsize=LETTERS
        )
        axes.set_yticks(range(len(network.units)), _labels(network), fontsize=LETTERS - 1)
        axes.set_xlabel("channel" if network.values.shape[1] > 1 else "the unit's one gate", fontsize=LETTERS)
        axes.tick_params(labelsize=LETTERS - 1)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if network.values.shape[1] == 1:
            axes.set_xticks([])
    figure.colorbar(image, ax=list(panels), shrink=0.8).ax.tick_params(labelsize=LETTERS - 1)
    caption(figure, WORDS + (BY_TOKEN if any(network.offsets is not None for network in networks) else ""))
    return figure


def _labels(network: Any) -> list[str]:
    """Group and unit, with what the colours do not show: the number itself if there is one, else mean or constant."""
    labels = []
    for place, ((group, unit), values) in enumerate(zip(network.units, network.values, strict=True)):
        number = f"b = {network.offsets[place]:+.3f}" if network.offsets is not None else f"mean {values.mean():+.3f}"
        labels.append(f"{group}.{unit}  {number}")
    return labels
