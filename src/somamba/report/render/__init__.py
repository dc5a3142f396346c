"""The formats of a table."""

from collections.abc import Callable

from somamba.registry import Registry
from somamba.report.render.csv import comma_separated
from somamba.report.render.latex import latex
from somamba.report.render.markdown import markdown
from somamba.report.table import Table

FORMATS: Registry[Callable[[Table], str]] = Registry(
    "table format", {"markdown": markdown, "latex": latex, "csv": comma_separated}
)
