"""HTML from Python, safe by type: `Html` is placed as it is, every other text is escaped."""

from collections.abc import Iterable
from html import escape

from somamba.report.names import visible

VOID = ("br", "img", "input", "meta")


class Html(str):
    """Text that is markup already. Made by `element` and `joined`; nothing read from a file may be called so."""

    __slots__ = ()


Content = str | None
"""Text, markup, or nothing."""


def element(tag: str, *content: Content, **attributes: str | int | float | bool | None) -> Html:
    """One element with its attributes and content.

    Args:
        tag: Name of the element.
        content: What stands inside, escaped unless it is `Html`; None is left out.
        attributes: ``class_`` is written ``class`` and ``data_value`` is ``data-value``; True gives an attribute
            without a value, None and False leave it out.
    """
    words = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        words.append(name if value is True else f'{name}="{escape(visible(str(value)), quote=True)}"')
    opening = f"<{' '.join(words)}>"
    return Html(opening if tag in VOID else f"{opening}{joined(content)}</{tag}>")


def joined(content: Iterable[Content], between: str = "") -> Html:
    """Pieces one after another, escaped unless they are `Html`; None is left out."""
    pieces = [
        piece if isinstance(piece, Html) else escape(visible(piece), quote=True)
        for piece in content
        if piece is not None
    ]
    return Html((between if isinstance(between, Html) else escape(between)).join(pieces))
