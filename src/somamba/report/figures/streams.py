"""What the router of every unit made of a slice: both streams as pictures, and how their power falls with frequency."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from somamba.errors import InputError
from somamba.extras import require
from somamba.report.figures.canvas import LETTERS, LINE, bare, caption, caption_lines, new_figure
from somamba.report.names import dataset_name, method_name
from somamba.results.streams import RecordedStreams

CUTOFFS = (0.25, 0.35)
"""The paper's cutoffs of the outer band, marked in the spectra."""
PICTURES = 6
"""Units shown unless told otherwise: few enough to see something."""
BRIGHT = 99.5
"""Percentile of a picture that is shown in its brightest colour."""
CELL = 1.7


def streams_figure(recorded: RecordedStreams, *, units: Sequence[int] | None = None) -> Any:
    """Draw L and G of some units below each other, beside the target and the reconstruction.

    Args:
        recorded: From `somamba streams`.
        units: Which, counted from 1; by default six spread over the network.

    Raises:
        InputError: the network has no such unit.
    """
    chosen = list(units) if units else _spread(recorded.units)
    for unit in chosen:
        if not 1 <= unit <= recorded.units:
            raise InputError(f"There is no unit {unit}; the network has units 1 to {recorded.units}.")
    streams = {"L\nkept in the state": recorded.carrier, "G\nkept out of it": recorded.evidence}
    shown = {name: pictures for name, pictures in streams.items() if pictures is not None}
    words = _streams_words(recorded)
    figure, axes = _canvas(len(shown), len(chosen) + 1, recorded.target.shape[0] / recorded.target.shape[1], words)
    for place, name in zip(axes[:, 0], ("target", "reconstruction"), strict=False):
        bright = float(np.percentile(recorded.target, BRIGHT))
        place.imshow(getattr(recorded, name), cmap="gray", vmin=0, vmax=bright, interpolation="nearest")
        place.set_title(name, fontsize=LETTERS, pad=3)
    for line, (name, pictures) in zip(axes[:, 1:], shown.items(), strict=True):
        line[0].set_ylabel(name, fontsize=LETTERS)
        for place, unit in zip(line, chosen, strict=True):
            picture = pictures[unit - 1]
            bright = float(np.percentile(picture, BRIGHT)) or 1.0
            place.imshow(picture, cmap="magma", vmin=0, vmax=bright, interpolation="nearest", aspect="auto")
            place.set_xlabel(f"max {picture.max():.2g}", fontsize=LETTERS - 2, labelpad=1)
    for place, unit in zip(axes[0, 1:], chosen, strict=True):
        place.set_title(f"unit {unit}", fontsize=LETTERS, pad=3)
    for place in axes.flat:
        bare(place)
    return figure


def spectra_figure(recorded: RecordedStreams) -> Any:
    """Draw the radial power spectra of L and of G, one line for each unit."""
    spectra = {"L: resident carrier": recorded.carrier_power, "G: non-resident evidence": recorded.evidence_power}
    shown = {name: power for name, power in spectra.items() if power is not None}
    figure = new_figure(4.4 * len(shown) + 1, 3.9)
    panels = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    colours = _colours(recorded.units)
    for axes, (name, power) in zip(panels, shown.items(), strict=True):
        for unit, line in enumerate(power):
            axes.plot(recorded.radius, line, color=colours[unit], linewidth=1.2, label=str(unit + 1))
        for cutoff in CUTOFFS:
            axes.axvline(cutoff, color="0.5", linestyle=":", linewidth=1)
        axes.set_title(name, fontsize=LETTERS)
        axes.set_xlabel("ρ, distance from the centre (corner = 1)", fontsize=LETTERS)
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=LETTERS - 1)
        axes.set(yscale="log", xlim=(0, 1))
    panels[0].set_ylabel("power of a channel at a frequency", fontsize=LETTERS)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, title="unit", loc="outside right upper", frameon=False, fontsize=LETTERS - 1)
    cuts = " and ".join(f"{cutoff:g}" for cutoff in CUTOFFS)
    caption(figure, f"{_source(recorded)} Dotted: r = {cuts}, the cutoffs of the outer band.")
    return figure


def _canvas(rows: int, columns: int, ratio: float, words: str) -> tuple[Any, Any]:
    """The figure with its caption and a grid of axes; all measures in inches."""
    gap, left, right, top, between = 0.06, 0.08, 0.08, 0.28, 0.2
    apart = 0.45  # between the images and the streams, for the names of the streams
    width = left + columns * (CELL + gap) + apart + right
    below = 0.06 + LINE * len(caption_lines(words, width))
    height = below + rows * (CELL * ratio + between) + top
    figure = new_figure(width, height, layout="none")
    axes = np.empty((rows, columns), dtype=object)
    for row in range(rows):
        for column in range(columns):
            x = left + column * (CELL + gap) + (apart if column else 0)
            y = height - top - (row + 1) * CELL * ratio - row * between
            axes[row, column] = figure.add_axes((x / width, y / height, CELL / width, CELL * ratio / height))
    caption(figure, words)
    return figure, axes


def _spread(count: int) -> list[int]:
    """The units to show, at most six, the first and the last among them."""
    return [int(unit) for unit in np.unique(np.linspace(1, count, min(PICTURES, count)).round())]


def _colours(count: int) -> list[Any]:
    """The colours of the units, from dark in the first to light in the last."""
    table = require("matplotlib", extra="report").colormaps["viridis"]
    return [table(0.92 * unit / max(1, count - 1)) for unit in range(count)]


def _streams_words(recorded: RecordedStreams) -> str:
    return (
        f"{_source(recorded)} Shown is the root mean square over the channels of a stream, each channel without its "
        f"mean; every picture from 0 (dark) to its own {BRIGHT:g}th percentile."
    )


def _source(recorded: RecordedStreams) -> str:
    facts = recorded.facts
    subject, setting = facts.subject, facts.setting
    return (
        f"{method_name(subject.method)} ({subject.epochs:g} epochs) on {dataset_name(setting.dataset)} "
        f"{setting.split}, {facts.case}, slice {facts.slice}; {setting.mask} mask, nominal "
        f"×{setting.acceleration:g}, realised ×{facts.sampled.realised_acceleration:.2f}."
    )
