"""HLeak, RLeak and eta of every unit, for one or several networks: where in the network the outer band is stored."""

from collections.abc import Sequence
from typing import Any

from somamba.report.figures.canvas import COLOURS, LETTERS, MARKERS, caption, new_figure, plain
from somamba.report.names import dataset_name, distinct_names, method_place
from somamba.results.leakage import LeakageRecord, LeakageSetting, by_unit, comparable_leakage

LINES = ("-", "--", ":")
"""Lines of the first networks, and of those for which colours and markers come again."""
LEVELS = {"hleak": "HLeak: state", "rleak": "RLeak: read-out", "eta": "η = RLeak / HLeak"}


def leakage_figure(records: Sequence[LeakageRecord]) -> Any:
    """Draw one line for each network: a row of panels for every cutoff, mean over cases with its deviation.

    Raises:
        InputError: the networks were measured on different data or at different cutoffs.
    """
    groups, cutoffs = comparable_leakage(records)
    figure = new_figure(9.5, 0.9 + 2.2 * len(cutoffs))
    panels = figure.subplots(len(cutoffs), len(LEVELS), sharex=True, sharey="col", squeeze=False)
    subjects = {key: key.evaluation.subject for key in groups}
    ordered = sorted(groups, key=lambda key: (method_place(subjects[key].method), subjects[key].seed))
    for number, (key, name) in enumerate(zip(ordered, distinct_names(ordered), strict=True)):
        again, place = divmod(number, len(COLOURS))
        style = {
            "color": COLOURS[place],
            "marker": MARKERS[place],
            "markersize": 4,
            "linestyle": LINES[again % len(LINES)],
        }
        averages = by_unit(groups[key])
        for line, cutoff in zip(panels, cutoffs, strict=True):
            for axes, level in zip(line, LEVELS, strict=True):
                found = [getattr(averages[cutoff, unit], level) for unit in range(1, key.units + 1)]
                _draw(axes, found, {**style, "label": plain(name)})
    for line, cutoff in zip(panels, cutoffs, strict=True):
        line[0].set_ylabel(f"r = {cutoff:g}", fontsize=LETTERS)
        line[-1].axhline(1, color="0.5", linestyle=":", linewidth=1)
    for axes, title in zip(panels[0], LEVELS.values(), strict=True):
        axes.set_title(title, fontsize=LETTERS)
    for axes in panels[-1]:
        axes.set_xlabel("unit", fontsize=LETTERS)
        axes.xaxis.get_major_locator().set_params(integer=True)
    for axes in panels.flat:
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=LETTERS - 1)
        axes.set_ylim(bottom=0)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=min(4, len(labels)), frameon=False, fontsize=LETTERS
    )
    caption(figure, _words(next(iter(groups))))
    return figure


def _draw(axes: Any, found: Sequence[Any], style: dict[str, Any]) -> None:
    """A line over the units; if there is a deviation over cases, a band around it."""
    units = range(1, len(found) + 1)
    means = [getattr(one, "mean", one) for one in found]
    deviations = [getattr(one, "std", 0.0) for one in found]
    axes.plot(units, means, linewidth=1.2, **style)
    if any(deviations):
        low, high = ([m + sign * d for m, d in zip(means, deviations, strict=True)] for sign in (-1, 1))
        axes.fill_between(units, low, high, color=style["color"], alpha=0.15, linewidth=0)


def _words(key: LeakageSetting) -> str:
    setting, cases = key.evaluation.setting, key.evaluation.cases
    averaged = "one case" if cases == 1 else f"mean over {cases} cases, band: standard deviation over them"
    return (
        f"{dataset_name(setting.dataset)} {setting.split}, {setting.mask} mask, ×{setting.acceleration:g}, protocol "
        f"{setting.protocol}: {averaged}. "
        f"r is a share of the distance to the {key.radius} of the transform grid; dotted: η = 1."
    )
