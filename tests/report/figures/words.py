"""What a figure says: matplotlib writes every text of an SVG file into a comment beside its outlines."""

import re

from somamba.report.figures.canvas import figure_bytes


def words_of(figure):
    """All texts of a figure, captions in one line."""
    picture = figure_bytes(figure, "svg").decode()
    return " ".join(" ".join(re.findall(r"<!--(.*?)-->", picture, flags=re.DOTALL)).split())
