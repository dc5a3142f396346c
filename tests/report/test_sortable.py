"""Tables carry what their sorting needs."""

from xml.etree import ElementTree

from somamba.report.sortable import MISSING, Entry, Head, sortable_table


def test_numbers_sort_by_value_and_gaps_are_marked():
    html = sortable_table(
        [Head("<a>"), Head("b", "descending")], [[Entry("x"), Entry("1 k", 1000)], [Entry("y"), MISSING]]
    )
    table = ElementTree.fromstring(html.replace("data-missing", 'data-missing=""'))
    assert [head.get("data-first") for head in table.iter("th") if head.get("scope") == "col"] == [
        "ascending",
        "descending",
    ]
    cells = list(table.iter("td"))
    assert cells[0].get("data-value") == "1000"
    assert cells[1].get("data-missing") is not None
    assert "&lt;a&gt;" in html
