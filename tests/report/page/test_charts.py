"""Charts put numbers where they belong."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from somamba.report.page.charts import Series, line_chart, log_ticks, round_ticks, strip_chart


def drawn(html):
    return ElementTree.fromstring(html)


def places(chart):
    return [
        [tuple(map(float, pair.split(","))) for pair in line.get("points").split()] for line in chart.iter("polyline")
    ]


def test_a_larger_number_is_further_up_and_a_later_one_further_right():
    (points,) = places(drawn(line_chart([Series(name="a", points=[(1, 5), (2, 7)], colour=0)], x="", y="", about="")))
    assert points[0][0] < points[1][0]
    assert points[0][1] > points[1][1]


def test_a_logarithmic_axis_gives_equal_steps_to_equal_factors_and_leaves_zero_out():
    series = Series(name="a", points=[(0, 1), (1, 10), (2, 100), (3, 0)], colour=0)
    (points,) = places(drawn(line_chart([series], x="", y="", about="", log=True)))
    assert len(points) == 3
    assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.2)


def test_one_point_and_equal_numbers_are_drawn():
    for points in ([(3, 7)], [(1, 0), (2, 0)]):
        html = line_chart([Series(name="a", points=points, colour=0)], x="", y="", about="")
        assert "nan" not in html
        assert len(places(drawn(html))[0]) == len(points)


def test_names_are_text():
    name = '</svg><script>"'
    line = line_chart([Series(name=name, points=[(1, 2)], colour=0, dots=True)], x=name, y=name, about=name)
    for html in (line, strip_chart([(name, [(name, 1.0)])], colours=[0], x=name, about=name)):
        assert "<script" not in html
        assert drawn(html).find("svg").get("aria-label") == name


def test_a_strip_has_a_dot_for_each_case_and_a_bar_at_the_mean():
    chart = drawn(strip_chart([("a", [("x", 1.0), ("y", 3.0)]), ("b", [("x", 2.0)])], colours=[0, 5], x="", about=""))
    dots = [float(dot.get("cx")) for dot in chart.iter("circle")]
    bars = [float(bar.get("x1")) for bar in chart.iter("line") if "line" in bar.get("class").split()]
    assert bars[0] == pytest.approx((dots[0] + dots[1]) / 2, abs=0.2)
    assert bars[1] == dots[2]


def test_ticks_are_round_and_inside():
    assert round_ticks(24.1, 36.2) == [25.0, 27.5, 30.0, 32.5, 35.0]
    assert round_ticks(3, 3) == [3]
    assert log_ticks(0.5, 60) == pytest.approx([0.5, 1, 2, 5, 10, 20, 50])
    assert len(log_ticks(0.018, 0.042)) > 2
    assert all(re.fullmatch(r"1e[-+]\d+", f"{tick:.0e}") for tick in log_ticks(1e-6, 1e3))


def test_many_lines_have_their_names_at_their_ends_and_no_two_meet():
    series = [Series(name=f"line {i}", points=[(0, 0), (1, 1 + 0.001 * i)], colour=i) for i in range(20)]
    html = line_chart(series, x="", y="", about="")
    labels = [text for text in drawn(html).iter("{*}text") if "label" in text.get("class", "")]
    labels = labels or [text for text in drawn(html).iter("text") if "label" in text.get("class", "")]
    assert {text.text for text in labels} == {one.name for one in series}
    heights = sorted(float(text.get("y")) for text in labels)
    assert min(low - high for high, low in pairwise(heights)) >= 12.9
    assert "legend" not in html
    few = line_chart(series[:4], x="", y="", about="")
    assert 'class="legend"' in few
    assert "label series" not in few
