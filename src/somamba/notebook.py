"""What a notebook shows of a scan, a model or scores: a table."""

from collections.abc import Mapping
from html import escape


def html_table(rows: Mapping[str, str]) -> str:
    """Return a table of two columns as HTML; all text is escaped."""
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows.items())
    return f"<table>{cells}</table>"
