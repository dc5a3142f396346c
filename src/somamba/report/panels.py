"""Reconstructions side by side: a picture with their errors, and a page that needs nothing but itself."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somamba.extras import require

MAGNIFIED = 5
"""How much brighter errors are drawn than the image."""

PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
img { width: 100%; background: black; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem 1rem; border-bottom: 1px solid #ccc; text-align: right; }
th:first-child, td:first-child { text-align: left; }
.note { color: #555; }
</style></head><body>
<h1>$title</h1>
<p>$summary</p>
<table><thead><tr><th>method</th><th>PSNR [dB]</th><th>SSIM</th><th>seconds</th></tr></thead><tbody>
$rows
</tbody></table>
<img alt="$alt" src="data:image/png;base64,$picture">
<p class="note">$note</p>
</body></html>
""")


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """One reconstruction to show."""

    method: str
    image: NDArray[np.float32]
    psnr: float
    ssim: float
    seconds: float


def draw_panels(path: Path, reference: NDArray[np.float32], panels: Sequence[Panel]) -> None:
    """Write a picture: the reference and every reconstruction, below them the errors, five times as bright.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure_class = require("matplotlib.figure", extra="report").Figure
    # A figure of its own, not pyplot's: no window system, no state shared with the caller.
    figure = figure_class(figsize=(3 * (len(panels) + 1), 6.4), layout="constrained", facecolor="black")
    axes: Any = figure.subplots(2, len(panels) + 1)
    # The brightest percent is fat; it may saturate so that the brain can be seen.
    bright = float(np.quantile(reference, 0.99))
    images = [("fully sampled", reference), *((panel.method, panel.image) for panel in panels)]
    scores = ["", *(f"{panel.psnr:.2f} dB, SSIM {panel.ssim:.3f}" for panel in panels)]
    for column, ((name, image), text) in enumerate(zip(images, scores, strict=True)):
        axes[0, column].imshow(image, cmap="gray", vmin=0, vmax=bright)
        axes[0, column].set_title(f"{name}\n{text}", color="white", fontsize=10)
        axes[1, column].imshow(np.abs(image - reference), cmap="inferno", vmin=0, vmax=bright / MAGNIFIED)
    axes[1, 0].set_title(f"errors, {MAGNIFIED} times as bright", color="white", fontsize=10)
    for axis in axes.flat:
        axis.set_axis_off()
    figure.savefig(path, dpi=110)


def write_page(path: Path, picture: Path, panels: Sequence[Panel], *, title: str, summary: str, note: str) -> None:
    """Write an HTML page with the table and the picture inside: one file, no network."""
    rows = "\n".join(
        f"<tr><td>{escape(panel.method)}</td><td>{panel.psnr:.2f}</td><td>{panel.ssim:.4f}</td>"
        f"<td>{panel.seconds:.2f}</td></tr>"
        for panel in panels
    )
    page = PAGE.substitute(
        title=escape(title),
        summary=escape(summary),
        note=escape(note),
        alt=escape(", ".join(["fully sampled", *(panel.method for panel in panels)])),
        rows=rows,
        picture=base64.b64encode(picture.read_bytes()).decode("ascii"),
    )
    path.write_text(page, encoding="utf-8")
