"""Parts that all figures share: an empty figure without a window, one size of letters, and saving. Needs matplotlib."""

from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any

from somamba.durable import replace_file
from somamba.errors import InputError
from somamba.extras import require
from somamba.report.names import visible

LETTERS = 9
"""Points of ordinary text: readable when a figure is printed at its own size."""
LETTERS_PER_INCH = 16.5
"""Average number of letters of a caption in an inch."""
LINE = 1.3 * (LETTERS - 1) / 72
"""Inches from one line of a caption to the next."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Okabe and Ito's, told apart by colour-blind readers too."""
MARKERS = "os^Dv*XP"
ENDINGS = (".png", ".pdf", ".svg")
MAKER = "somamba"
"""What a figure says about who wrote it; another program's file is not replaced by one of ours."""


def new_figure(width: int | float, height: int | float, *, layout: str = "constrained") -> Any:
    """An empty matplotlib figure: not pyplot's, so it shares no state with the caller.

    Args:
        width: Width in inches.
        height: Height in inches.
        layout: Layout engine of matplotlib.
    """
    return require("matplotlib.figure", extra="report").Figure(figsize=(width, height), layout=layout)


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure in one piece; the ending of the name decides the format."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path}: the name of a figure ends in {', '.join(ENDINGS)}, and that decides its format.")
    replace_file(path, figure_bytes(figure, path.suffix.lower().removeprefix(".")))


def figure_bytes(figure: Any, kind: str) -> bytes:
    """A figure as ``png``, ``pdf`` or ``svg``; it names somamba, and no date, so that equal figures are equal files."""
    about = {
        "png": {"Software": MAKER},
        "pdf": {"Creator": MAKER, "CreationDate": None},
        "svg": {"Creator": MAKER, "Date": None},
    }[kind]
    content = BytesIO()
    figure.savefig(content, format=kind, dpi=150, metadata=about)
    return content.getvalue()


def caption_lines(text: str, width: int | float) -> list[str]:
    """The lines of a caption under a figure of this width in inches."""
    return [line for part in text.split("\n") for line in wrap(part, int(width * LETTERS_PER_INCH))]


def caption(figure: Any, text: str) -> None:
    """Text below everything, over the whole width."""
    lines = caption_lines(plain(text), figure.get_figwidth())
    figure.supxlabel("\n".join(lines), fontsize=LETTERS - 1, color="0.25", x=0.01, ha="left", linespacing=1.3)


def plain(text: str) -> str:
    """Names come from files: matplotlib would take what stands between two dollars for a formula."""
    return visible(text).replace("$", r"\$")


def bare(axes: Any) -> None:
    """A picture without ticks, its frame kept thin."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_linewidth(0.5)
