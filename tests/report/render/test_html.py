"""Tables carry what their sorting needs."""

from xml.etree import ElementTree

from somamba.report.render.html import html
from somamba.report.table import Cell, Column, Table, TableBlock


def test_numbers_sort_by_value_and_gaps_are_marked():
    columns = [Column(title="<a>"), Column(title="b", first="descending")]
    lines = [[Cell(text="x"), Cell(text="1 k", value=1000)], [Cell(text="y"), None]]
    written = html(Table(columns=columns, blocks=[TableBlock(lines)]))
    table = ElementTree.fromstring(written.replace("data-missing", 'data-missing=""'))
    assert [head.get("data-first") for head in table.iter("th") if head.get("scope") == "col"] == [
        "ascending",
        "descending",
    ]
    cells = list(table.iter("td"))
    assert cells[0].get("data-value") == "1000"
    assert cells[1].get("data-missing") is not None
    assert "&lt;a&gt;" in written
