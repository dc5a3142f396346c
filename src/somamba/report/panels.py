"""Reconstructions of one slice side by side: a picture with their errors, and a page to look at them closely."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from somamba.report.figures.canvas import LETTERS, new_figure, plain
from somamba.report.figures.reconstructions import BOX_COLOUR, worst_box
from somamba.report.page.document import document
from somamba.report.page.markup import Content, element, joined
from somamba.report.page.pixels import Numbers
from somamba.report.page.records import with_mask
from somamba.report.page.viewer import ViewerCase, ViewerImage, viewer
from somamba.report.render.html import html
from somamba.report.table import Column, Line, Table, TableBlock, number, text_cell

MAGNIFIED = 5
"""How much brighter errors are drawn than the image."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """One reconstruction to show."""

    name: str
    image: Numbers
    """(y, x), complex or its magnitude."""
    psnr: float
    ssim: float
    seconds: float


def panels_figure(reference: Numbers, panels: Sequence[Panel], *, samples: Numbers | None = None) -> Any:
    """The reference and every reconstruction, a part of each enlarged, and the errors.

    Args:
        reference: (y, x), the fully sampled image.
        panels: The reconstructions.
        samples: (y, x), magnitude of the k-space that was kept, zero elsewhere; None shows no samples.
    """
    figure = new_figure(2.6 * (len(panels) + 1), 8.3)
    figure.set_facecolor("black")
    axes: Any = figure.subplots(3, len(panels) + 1)
    truth = np.abs(reference)
    # The brightest percent is fat; it may saturate so that the brain can be seen.
    bright = float(np.quantile(truth, 0.99))
    images = [("fully sampled", truth), *((panel.name, np.abs(panel.image)) for panel in panels)]
    scores = ["", *(f"{panel.psnr:.2f} dB, SSIM {panel.ssim:.3f}" for panel in panels)]
    box = worst_box(np.abs(images[1][1] - truth))
    # The part has a window of its own: what matters in a brain is grey on grey.
    darkest, brightest = (float(np.quantile(box.of(truth), share)) for share in (0.005, 0.995))
    for column, ((name, image), text) in enumerate(zip(images, scores, strict=True)):
        axes[0, column].imshow(image, cmap="gray", vmin=0, vmax=bright)
        axes[0, column].set_title(f"{plain(name)}\n{text}", color="white", fontsize=LETTERS)
        axes[1, column].imshow(box.of(image), cmap="gray", vmin=darkest, vmax=brightest, interpolation="bicubic")
        if column:
            axes[2, column].imshow(np.abs(image - truth), cmap="inferno", vmin=0, vmax=bright / MAGNIFIED)
    left, right, top, bottom = box.x, box.x + box.size, box.y, box.y + box.size
    corners = [left, right, right, left, left], [top, top, bottom, bottom, top]
    axes[0, 0].plot(*corners, color=BOX_COLOUR, linewidth=1)
    axes[2, 1].set_title(f"errors, {MAGNIFIED} times as bright", color="white", fontsize=LETTERS)
    if samples is not None:
        _draw_samples(axes[2, 0], np.abs(samples))
    for axis in axes.flat:
        axis.set_axis_off()
    return figure


def _draw_samples(axis: Any, samples: Numbers) -> None:
    """Draw k-space on a logarithmic scale; what was not acquired is black."""
    kept = samples[samples > 0]
    low, high = (float(np.log(np.quantile(kept, share))) for share in (0.01, 0.9999))
    black = low - 0.5 * (high - low) - 1
    shown = np.where(samples > 0, np.log(np.maximum(samples, np.exp(low))), black)
    axis.imshow(shown, cmap="gray", vmin=black, vmax=high, interpolation="nearest")
    axis.set_title(f"what was measured: {np.mean(samples > 0):.0%}", color="white", fontsize=LETTERS)


@dataclass(frozen=True, kw_only=True, eq=False)
class PageText:
    """What a page of reconstructions says besides the images and their scores."""

    title: str
    summary: str
    """A sentence below the title."""
    mask: Numbers
    """Truths, (y, x): what was measured."""
    mask_kind: str
    facts: Mapping[str, Content]
    """What stands beside the mask: names with their values."""
    next_steps: Mapping[str, str]
    """Commands to go on with, by what they do."""
    note: str
    """The text at the end of the page."""


def panels_page(reference: Numbers, panels: Sequence[Panel], text: PageText) -> str:
    """A page with the scores and a viewer: one file that needs no network.

    Args:
        reference: (y, x), the fully sampled image.
        panels: The reconstructions.
        text: What else it says.
    """
    columns = [Column(title="method"), Column(title="PSNR [dB]", first="descending")]
    columns += [Column(title="SSIM", first="descending"), Column(title="seconds")]
    lines: list[Line] = [
        [text_cell(panel.name), number(panel.psnr, ".2f"), number(panel.ssim, ".4f"), number(panel.seconds, ".2f")]
        for panel in panels
    ]
    table = html(Table(columns=columns, blocks=[TableBlock(lines)]))
    images = [
        ViewerImage(label=panel.name, pixels=panel.image[None], psnr=[panel.psnr], ssim=[panel.ssim])
        for panel in panels
    ]
    header = element("header", element("h1", text.title), element("p", text.summary, class_="lead"))
    shown = viewer([ViewerCase(name=text.title, images=images, reference=reference[None])])
    made = element("section", element("h2", "How it was made"), with_mask(text.mask, text.mask_kind, text.facts))
    steps = [
        joined([element("p", what), element("pre", one, class_="command")]) for what, one in text.next_steps.items()
    ]
    body = element("main", table, shown, made, element("section", element("h2", "What to do next"), *steps))
    return document(text.title, joined([header, body, element("footer", text.note)], "\n"))
