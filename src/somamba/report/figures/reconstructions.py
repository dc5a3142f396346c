"""The paper's Figure 2: target, zero-filled image and every method; a part enlarged; errors in one colour range."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from somamba.errors import InputError
from somamba.report.figures.canvas import LETTERS, LINE, bare, caption, caption_lines, new_figure, plain
from somamba.report.names import METHODS, dataset_name, method_name, method_place
from somamba.results.gallery import KeptCase, KeptMeasurement

ERROR_RANGE = 0.15
"""Top of the colour range, in parts of the target's largest value: the same in every figure unless told otherwise."""
BRIGHT = 99.7
"""Percentile of the target that is shown white; its maximum would follow a single bright vessel."""
BOX_SHARE = 4
"""The default box is this part of the shorter side."""
WIDTH = 15.0
"""Inches of a figure with many columns; few columns are this much at most."""
COLUMN = 2.1
ZERO_FILLED = "zero_filled"
BOX_COLOUR = "#56B4E9"


class Box(NamedTuple):
    """A square part of a picture, in pixels."""

    y: int
    x: int
    size: int

    def of(self, image: NDArray[Any]) -> NDArray[Any]:
        """The pixels of an image that lie in the box."""
        return image[self.y : self.y + self.size, self.x : self.x + self.size]


class FigureColumn(NamedTuple):
    """One column: a method's magnitude image of the slice, and its scores."""

    title: str
    image: NDArray[np.floating]
    scores: str


def reconstructions_figure(
    case: KeptCase, *, number: int | None = None, box: Box | None = None, error_range: float = ERROR_RANGE
) -> Any:
    """Draw one slice as every method reconstructed it.

    Args:
        case: From a gallery.
        number: The slice, by its number in the case; by default the one with the median zero-filled PSNR.
        box: The part to enlarge; by default where the zero-filled image errs most, see `worst_box`.
        error_range: Error shown in the brightest colour, in parts of the target's largest value.

    Raises:
        InputError: the case has no such slice, or the box leaves the picture.
    """
    if not error_range > 0:
        raise InputError(f"error_range={error_range} must be positive: it is the top of a colour range.")
    measurement = case.measurement()
    row = typical_slice(case) if number is None else _row_of(case, measurement, number)
    target = measurement.target[row]
    panels = _panels(case, measurement, row)
    chosen = box or worst_box(np.abs(panels[0].image - target))
    _check_box(chosen, target.shape)
    words = _words(case, int(measurement.slices[row]), chosen, picked=(number is None, box is None))
    figure, axes, bar = _canvas(len(panels) + 1, target.shape[0] / target.shape[1], words)
    _draw_images(axes, target, panels, chosen)
    for place, panel in zip(axes[2, 1:], panels, strict=True):
        error = np.abs(panel.image - target) / float(target.max())
        shown = place.imshow(error, cmap="inferno", vmin=0, vmax=error_range, interpolation="nearest")
        _outline(place, chosen)
    figure.colorbar(shown, cax=bar).set_label("|error| / max target", fontsize=LETTERS - 1)
    bar.tick_params(labelsize=LETTERS - 2)
    axes[2, 0].imshow(measurement.mask[row % len(measurement.mask)], cmap="gray", interpolation="nearest")
    axes[2, 0].set_xlabel("mask", fontsize=LETTERS - 1, labelpad=2)
    for place in axes.flat:
        bare(place)
    return figure


def _canvas(columns: int, ratio: float, words: str) -> tuple[Any, Any, Any]:
    """The figure with its caption, three rows of axes, and the axes of the colour bar; all measures in inches."""
    cell = min(COLUMN, WIDTH / columns)
    gap, left, right, top = 0.05, 0.08, 0.85, 0.25
    width = left + columns * (cell + gap) + right
    below = 0.3 + LINE * len(caption_lines(words, width))
    height = below + cell * (2 * ratio + 1) + 2 * gap + top
    figure = new_figure(width, height, layout="none")
    grid = figure.add_gridspec(
        3,
        columns + 1,
        left=left / width,
        right=1 - (right - 0.16) / width,
        bottom=below / height,
        top=1 - top / height,
        wspace=gap / cell,
        hspace=gap / cell,
        width_ratios=[*[cell] * columns, 0.11],
        height_ratios=[ratio, 1, ratio],
    )
    axes = np.array([[figure.add_subplot(grid[row, column]) for column in range(columns)] for row in range(3)])
    caption(figure, words)
    return figure, axes, figure.add_subplot(grid[2, columns])


def typical_slice(case: KeptCase) -> int:
    """Position of the slice with the median zero-filled PSNR: neither the easiest nor the hardest."""
    order = np.argsort(case.facts.zero_filled_psnr, kind="stable")
    return int(order[len(order) // 2])


def worst_box(error: NDArray[np.floating]) -> Box:
    """The square of largest summed error, a quarter of the shorter side wide, in the middle half of the picture."""
    size = max(1, min(error.shape) // BOX_SHARE)
    top, left = (side // 4 for side in error.shape)
    middle = error[top : top + max(size, error.shape[0] // 2), left : left + max(size, error.shape[1] // 2)]
    # Sums over all squares from a table of sums over all rectangles that begin in the corner.
    table = np.pad(middle.astype(np.float64).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    sums = table[size:, size:] - table[:-size, size:] - table[size:, :-size] + table[:-size, :-size]
    y, x = np.unravel_index(int(sums.argmax()), sums.shape)
    return Box(top + int(y), left + int(x), size)


def _panels(case: KeptCase, measurement: KeptMeasurement, row: int) -> list[FigureColumn]:
    """Zero-filled first, then the methods in the paper's order, others after them by name."""
    facts = case.facts
    cut = (0.0, 1.0) if facts.setting.protocol == "magnitude" else (0.0, np.inf)  # as they were scored
    zero_filled = np.abs(measurement.zero_filled[row]).clip(*cut)
    scores = _scores(facts.zero_filled_psnr[row], facts.zero_filled_ssim[row])
    panels = [FigureColumn(METHODS[ZERO_FILLED], zero_filled, scores)]
    methods = sorted(case.methods, key=lambda one: (method_place(one.facts.subject.method), one.facts.label))
    for method in methods:
        if method.facts.subject.method != ZERO_FILLED:
            image = np.abs(method.reconstruction(measurement)[row]).clip(*cut)
            title = method_name(method.facts.label)
            panels.append(FigureColumn(title, image, _scores(method.facts.psnr[row], method.facts.ssim[row])))
    return panels


def _draw_images(axes: Any, target: NDArray[np.floating], panels: Sequence[FigureColumn], box: Box) -> None:
    grey = {"cmap": "gray", "vmin": 0, "vmax": float(np.percentile(target, BRIGHT)), "interpolation": "nearest"}
    for column, panel in enumerate([FigureColumn("Target", target, ""), *panels]):
        whole, part = axes[0, column], axes[1, column]
        whole.imshow(panel.image, **grey)
        whole.set_title(plain(panel.title), fontsize=LETTERS, pad=3)
        _outline(whole, box)
        if panel.scores:
            _stamp(whole, panel.scores)
        part.imshow(box.of(panel.image), **grey)
        for spine in part.spines.values():
            spine.set_color(BOX_COLOUR)


def _outline(axes: Any, box: Box) -> None:
    left, right, top, bottom = box.x - 0.5, box.x + box.size - 0.5, box.y - 0.5, box.y + box.size - 0.5
    axes.plot([left, right, right, left, left], [top, top, bottom, bottom, top], color=BOX_COLOUR, linewidth=1)


def _stamp(axes: Any, text: str) -> None:
    ground = {"facecolor": "black", "alpha": 0.55, "pad": 1.5, "linewidth": 0}
    place = {"transform": axes.transAxes, "va": "bottom"}
    axes.text(0.02, 0.02, text, color="white", fontsize=LETTERS - 2, bbox=ground, **place)


def _scores(psnr: float, ssim: float) -> str:
    return f"{psnr:.2f} dB / {ssim:.3f}"


def _row_of(case: KeptCase, measurement: KeptMeasurement, number: int) -> int:
    slices = measurement.slices.tolist()
    if number not in slices:
        raise InputError(f"Case {case.facts.case!r} keeps no slice {number}; it keeps {slices[0]} to {slices[-1]}.")
    return slices.index(number)


def _check_box(box: Box, shape: tuple[int, ...]) -> None:
    inside = box.y >= 0 and box.x >= 0 and box.y + box.size <= shape[0] and box.x + box.size <= shape[1]
    if box.size < 1 or not inside:
        raise InputError(
            f"A box of {box.size} pixels at y {box.y}, x {box.x} leaves the {shape[0]}x{shape[1]} picture."
        )


def _words(case: KeptCase, number: int, box: Box, *, picked: tuple[bool, bool]) -> str:
    facts, setting = case.facts, case.facts.setting
    slice_picked = " (median zero-filled PSNR of the case)" if picked[0] else ""
    box_picked = ", where the zero-filled image errs most in the middle of the picture" if picked[1] else ""
    return (
        f"{dataset_name(setting.dataset)} {setting.split}, {facts.case}, slice {number}{slice_picked}; {setting.mask} "
        f"mask, nominal ×{setting.acceleration:g}, realised ×{facts.sampled.realised_acceleration:.2f}; protocol "
        f"{setting.protocol}. "
        f"Box: {box.size}×{box.size} pixels at y {box.y}, x {box.x}{box_picked}. PSNR / SSIM of the slice."
    )
