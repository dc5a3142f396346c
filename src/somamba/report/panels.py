"""Reconstructions of one slice side by side: a picture with their errors, and a page to look at them closely."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from somamba.report.figures.canvas import LETTERS, new_figure, plain
from somamba.report.page.document import document
from somamba.report.page.markup import element, joined
from somamba.report.page.pixels import Numbers
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


def panels_figure(reference: Numbers, panels: Sequence[Panel]) -> Any:
    """The reference and every reconstruction, below them the errors, five times as bright."""
    figure = new_figure(2.6 * (len(panels) + 1), 5.8)
    figure.set_facecolor("black")
    axes: Any = figure.subplots(2, len(panels) + 1)
    truth = np.abs(reference)
    # The brightest percent is fat; it may saturate so that the brain can be seen.
    bright = float(np.quantile(truth, 0.99))
    images = [("fully sampled", truth), *((panel.name, np.abs(panel.image)) for panel in panels)]
    scores = ["", *(f"{panel.psnr:.2f} dB, SSIM {panel.ssim:.3f}" for panel in panels)]
    for column, ((name, image), text) in enumerate(zip(images, scores, strict=True)):
        axes[0, column].imshow(image, cmap="gray", vmin=0, vmax=bright)
        axes[0, column].set_title(f"{plain(name)}\n{text}", color="white", fontsize=LETTERS)
        axes[1, column].imshow(np.abs(image - truth), cmap="inferno", vmin=0, vmax=bright / MAGNIFIED)
    axes[1, 0].set_title(f"errors, {MAGNIFIED} times as bright", color="white", fontsize=LETTERS)
    for axis in axes.flat:
        axis.set_axis_off()
    return figure


def panels_page(reference: Numbers, panels: Sequence[Panel], *, title: str, summary: str, note: str) -> str:
    """A page with the scores and a viewer: one file that needs no network.

    Args:
        reference: (y, x), the fully sampled image.
        panels: The reconstructions.
        title: Title of the page.
        summary: Sentence below the title.
        note: Text at the end of the page.
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
    header = element("header", element("h1", title), element("p", summary, class_="lead"))
    body = element("main", table, viewer([ViewerCase(name=title, images=images, reference=reference[None])]))
    return document(title, joined([header, body, element("footer", note)], "\n"))
