"""Facts with their names, and the picture of a mask, as parts of a page."""

from collections.abc import Mapping

from somamba.report.page.markup import Content, Html, element, joined
from somamba.report.page.pixels import Numbers, picture_link


def record(facts: Mapping[str, Content]) -> Html:
    """Names with their values; empty values are left out."""
    pairs = [joined([element("dt", name), element("dd", value)]) for name, value in facts.items() if value]
    return element("dl", *pairs, class_="record")


def with_mask(mask: Numbers, kind: str, facts: Mapping[str, Content]) -> Html:
    """A sampling mask beside what is said about it.

    Args:
        mask: Truths, (y, x).
        kind: Name of the kind of mask.
        facts: Names with their values.
    """
    about = f"Sampling mask, {kind}: white was measured"
    picture = element("img", src=picture_link(mask), alt=about, title=about, class_="mask")
    return element("div", picture, record(facts), class_="with-picture")
