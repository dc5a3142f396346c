"""Charts as SVG inside a page: no picture files, no library, colours by the style of the page in light and dark."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from somamba.report.page.markup import Html, element, joined

WIDTH, HEIGHT = 560, 300
STRIP_WIDTH, STRIP = 960, 34
"""Width of a strip chart, which has the whole page, and height of one group in it."""
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 26, 40
LETTERS = 44
"""Longest name at the left of a strip chart; a longer one is shown in full when it is pointed at."""
COLOURS = 14
"""Number of colours of the style sheet, the classes ``series-1`` to ``series-14``."""
MOST_IN_LEGEND = 4
"""Lines of a chart with a legend; of more than these each has its name at its end."""
LABEL_WIDTH, LABEL_HEIGHT, LABEL_LETTERS = 172, 13, 23
"""Width and height of the name at the end of a line, and its longest text."""

Number = int | float


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a chart."""

    name: str
    points: Sequence[tuple[Number, Number]]
    colour: int
    """Number of the colour from 0, see `somamba.report.colours`."""
    dashed: bool = False
    dots: bool = False
    """Whether each point has a dot."""
    hollow: bool = False
    """Whether the dots are hollow, to tell a line from another one of its colour."""


@dataclass(frozen=True)
class _Axis:
    """An axis: numbers, and the stretch of the picture that they fill."""

    low: Number
    high: Number
    start: Number
    end: Number
    log: bool = False
    whole: bool = False
    """Only whole numbers have a meaning."""

    def place(self, value: Number) -> Number:
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return self.start + (value - low) / ((high - low) or 1.0) * (self.end - self.start)

    def ticks(self) -> list[Number]:
        ticks = log_ticks(self.low, self.high) if self.log else round_ticks(self.low, self.high)
        return [tick for tick in ticks if float(tick).is_integer()] if self.whole else ticks


def line_chart(
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    about: str,
    log: bool = False,
    start: Number | None = None,
    whole: bool = False,
) -> Html:
    """Lines over a common axis, with a legend.

    Args:
        series: At least one point in all of them together; with ``log`` only points above zero are drawn.
        x: Title of the axis across.
        y: Title of the axis upwards.
        about: The chart in a sentence, for those who cannot see it.
        log: Whether the axis upwards is logarithmic.
        start: First value of the axis across; None begins at the first point.
        whole: Whether only whole numbers have a meaning across.
    """
    drawn = [[point for point in one.points if point[1] > 0 or not log] for one in series]
    direct = len(series) > MOST_IN_LEGEND
    right = WIDTH - (LABEL_WIDTH if direct else RIGHT)
    bottom = max(HEIGHT, TOP + BOTTOM + LABEL_HEIGHT * len(series) * direct) - BOTTOM
    places, values = zip(*[point for points in drawn for point in points], strict=True)
    low, high = min(values), max(values)
    margin = 0.0 if log else 0.06 * (high - low) or 0.5
    across = _Axis(min(places) if start is None else start, max(places), LEFT, right, whole=whole)
    up = _Axis(low * 0.95 if log else low - margin, high * 1.05 if log else high + margin, bottom, TOP, log)
    parts = [_grid(across, up), *(_line(one, points, across, up) for one, points in zip(series, drawn, strict=True))]
    if direct:
        lines = [(one, points[-1]) for one, points in zip(series, drawn, strict=True) if points]
        ends = [(one, across.place(x_end), up.place(y_end)) for one, (x_end, y_end) in lines]
        parts += _labels(ends, bottom)
    legend = None if direct else _legend(series)
    return _figure(parts, x=x, y=y, about=about, size=(WIDTH, int(bottom) + BOTTOM), legend=legend)


def strip_chart(
    groups: Sequence[tuple[str, Sequence[tuple[str, Number]]]], *, colours: Sequence[int], x: str, about: str
) -> Html:
    """A line of dots for each group, one dot for each value with a name, and a bar at their mean.

    Args:
        groups: The name of each group, and its values with their names.
        colours: The number of the colour of each group.
        x: Title of the axis.
        about: The chart in a sentence, for those who cannot see it.
    """
    values = [value for _, points in groups for _, value in points]
    margin = 0.06 * (max(values) - min(values)) or 0.5
    left = 12 + 7 * min(LETTERS, max(len(name) for name, _ in groups))
    across = _Axis(min(values) - margin, max(values) + margin, left, STRIP_WIDTH - RIGHT)
    height = STRIP * len(groups) + TOP + BOTTOM - 10
    parts = [_rule(across.place(tick), TOP - 6, height - BOTTOM, _text(tick)) for tick in across.ticks()]
    for row, (name, points) in enumerate(groups):
        y = TOP + 12 + STRIP * row
        colour = colour_class(colours[row])
        cut = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"
        parts.append(element("text", cut, element("title", name), x=left - 12, y=y + 4, text_anchor="end"))
        for label, value in points:
            dot = element("title", f"{label}: {value:.4g}")
            parts.append(
                element("circle", dot, cx=_number(across.place(value)), cy=y, r=4, class_=f"dot faint {colour}")
            )
        mean = _number(across.place(sum(value for _, value in points) / len(points)))
        parts.append(element("line", x1=mean, x2=mean, y1=y - 10, y2=y + 10, class_=f"line {colour}"))
    return _figure(parts, x=x, y="", about=about, size=(STRIP_WIDTH, height))


def round_ticks(low: Number, high: Number, count: int = 5) -> list[Number]:
    """Round numbers between two ends.

    Args:
        low: The lower end.
        high: The upper end.
        count: About how many numbers there are to be.
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda one: abs(one - rough))
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: Number, high: Number) -> list[Number]:
    """Powers of ten, with their double and fivefold if there are few of them; round numbers within one decade."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) < 5 else (1,)
    ticks = [tick for power in powers for m in factors if low <= (tick := m * 10.0**power) <= high]
    return ticks if len(ticks) > 2 else round_ticks(low, high)


def _figure(
    parts: Sequence[Html], *, x: str, y: str, about: str, size: tuple[int, int], legend: Html | None = None
) -> Html:
    width, height = size
    labels = [element("text", y, x=2, y=13)] if y else []
    labels.append(element("text", x, x=width - RIGHT, y=height - 5, text_anchor="end"))
    box = f"0 0 {width} {height}"
    drawing = element("svg", *parts, *labels, viewBox=box, class_="chart", role="img", aria_label=about)
    kind = "wide" if width > WIDTH else "direct" if legend is None else None
    return element("figure", drawing, legend, class_=kind)


def _legend(series: Sequence[Series]) -> Html:
    items = []
    for one in series:
        looks = f"{' dashed' if one.dashed else ''}{' again' if one.hollow else ''}"
        items.append(element("li", one.name, class_=f"{colour_class(one.colour)}{looks}"))
    return element("ul", *items, class_="legend")


def _labels(ends: Sequence[tuple[Series, Number, Number]], bottom: Number) -> list[Html]:
    """The name of every line beside its end, moved up or down if two would meet."""
    ordered = sorted(ends, key=lambda one: one[2])
    heights: list[Number] = []
    for _, _, y in ordered:
        heights.append(max(y, heights[-1] + LABEL_HEIGHT) if heights else max(y, TOP))
    for place in range(len(heights) - 1, -1, -1):
        below = heights[place + 1] - LABEL_HEIGHT if place + 1 < len(heights) else bottom
        heights[place] = min(heights[place], below)
    parts = []
    start = WIDTH - LABEL_WIDTH + 14
    for (one, x, y), height in zip(ordered, heights, strict=True):
        colour = colour_class(one.colour)
        cut = one.name if len(one.name) <= LABEL_LETTERS else f"{one.name[: LABEL_LETTERS - 1]}…"
        way = f"{_number(x)},{_number(y)} {start - 3},{_number(height)}"
        parts.append(element("polyline", points=way, class_=f"lead-line {colour}"))
        whole = element("title", one.name)
        parts.append(element("text", cut, whole, x=start, y=_number(height + 4), class_=f"label {colour}"))
    return parts


def colour_class(number: int) -> str:
    """The class of a colour in the style sheet; beyond the last they come again, but for the first, SO-Mamba's own."""
    return f"series-{number + 1 if number < COLOURS else (number - COLOURS) % (COLOURS - 1) + 2}"


def _grid(across: _Axis, up: _Axis) -> Html:
    parts = []
    for tick in up.ticks():
        y = _number(up.place(tick))
        parts.append(element("line", x1=LEFT, x2=across.end, y1=y, y2=y, class_="grid"))
        parts.append(element("text", _text(tick), x=LEFT - 8, y=float(y) + 4, text_anchor="end"))
    for tick in across.ticks():
        parts.append(element("text", _text(tick), x=_number(across.place(tick)), y=up.start + 18, text_anchor="middle"))
    parts.append(element("line", x1=LEFT, x2=across.end, y1=up.start, y2=up.start, class_="ends"))
    return joined(parts)


def _rule(x: Number, top: Number, bottom: Number, label: str) -> Html:
    line = element("line", x1=_number(x), x2=_number(x), y1=top, y2=bottom, class_="grid")
    return joined([line, element("text", label, x=_number(x), y=bottom + 16, text_anchor="middle")])


def _line(one: Series, points: Sequence[tuple[Number, Number]], across: _Axis, up: _Axis) -> Html:
    colour = colour_class(one.colour)
    places = [(_number(across.place(x)), _number(up.place(y))) for x, y in points]
    path = " ".join(f"{x},{y}" for x, y in places)
    parts = [element("polyline", points=path, class_=f"line {colour}{' dashed' if one.dashed else ''}")]
    if one.dots:
        for (x, y), (place, value) in zip(places, points, strict=True):
            about = element("title", f"{one.name}: {value:.4g} at {place:g}")
            hollow = " hollow" if one.hollow else ""
            parts.append(element("circle", about, cx=x, cy=y, r=3.2, class_=f"dot {colour}{hollow}"))
    return joined(parts)


def _number(value: Number) -> str:
    return f"{value:.1f}"


def _text(tick: Number) -> str:
    return f"{tick:,.10g}" if abs(tick) >= 1 else f"{tick:.6g}"
