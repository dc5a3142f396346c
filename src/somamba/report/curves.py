"""Learning curves: what a run's journal says, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from somamba.errors import InputError
from somamba.report.figures.canvas import new_figure, save_figure

Event = Mapping[str, Any]

SMOOTHING = 50
"""Steps over which the loss is averaged; single steps see other slices and scatter."""


def draw_curves(
    runs: Mapping[str, Sequence[Event]], path: Path, *, baseline: float | None = None, title: str = ""
) -> None:
    """Draw loss and validation PSNR over the steps of one or several runs.

    Args:
        runs: The events of each run's journal, by name.
        path: Where the picture goes; its ending decides the format.
        baseline: PSNR of the zero-filled images on the same cases, drawn as a line to beat.
        title: Above the picture.

    Raises:
        InputError: a run has no training step yet.
        MissingExtraError: matplotlib is not installed.
    """
    for name, events in runs.items():
        if not _of(events, "step"):
            raise InputError(f"The journal of {name} holds no training step; wait for the first, or name another run.")
    figure = new_figure(10, 4)
    losses, scores = figure.subplots(1, 2, sharex=True)
    for name, events in runs.items():
        _draw_loss(losses, name, events)
        _draw_psnr(scores, name, events)
    losses.set(xlabel="step", ylabel="training loss", yscale="log")
    scores.set(xlabel="step", ylabel="PSNR on the validation cases [dB]")
    if baseline is not None:
        scores.axhline(baseline, color="grey", linestyle=":", label=f"zero-filled {baseline:.2f} dB")
    for axes in (losses, scores):
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False)
    figure.suptitle(title)
    save_figure(figure, path)


def _of(events: Sequence[Event], kind: str) -> list[Event]:
    return [event for event in events if event["event"] == kind]


def _draw_loss(axes: Any, name: str, events: Sequence[Event]) -> None:
    steps = [(event["step"], event["loss"]) for event in _of(events, "step") if event["loss"] is not None]
    places, losses = zip(*steps, strict=True)
    (line,) = axes.plot(places, losses, alpha=0.2, linewidth=0.5)
    means = [sum(part) / len(part) for i in range(len(losses)) if (part := losses[max(0, i + 1 - SMOOTHING) : i + 1])]
    axes.plot(places, means, color=line.get_color(), label=f"{name}, mean of {SMOOTHING} steps")


def _draw_psnr(axes: Any, name: str, events: Sequence[Event]) -> None:
    found = _of(events, "validation")
    if not found:
        return
    best = max(found, key=lambda event: float(event["psnr"]))
    label = f"{name}, best {best['psnr']:.2f} dB (step {best['step']})"
    axes.plot([event["step"] for event in found], [event["psnr"] for event in found], marker="o", label=label)
