"""A rich console for names that other people chose."""

from typing import Any

from rich.console import Console
from rich.text import Text

from somamba.cli.output import clean


class CleanConsole(Console):
    """A console whose texts, cells and titles of tables included, cannot steer the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Turn a text with markup into what is shown, cleaned before rich adds its own escapes."""
        return super().render_str(clean(text), **options)
