"""A table as HTML that sorts by a click on a heading, or by the keyboard; see page/script/tables.js."""

from somamba.report.page.markup import Html, element, joined
from somamba.report.table import Cell, Table


def html(table: Table) -> Html:
    """A table; the first cell of a line names it, and what was not measured is marked and stays last."""
    heading = element(
        "tr",
        *(
            element("th", element("button", column.title, type="button"), scope="col", data_first=column.first)
            for column in table.columns
        ),
    )
    body = [element("tr", *(_cell(cell, place) for place, cell in enumerate(line))) for line in table.lines]
    about = element("caption", table.caption) if table.caption else None
    content = element("table", about, element("thead", heading), element("tbody", *body), class_="sortable")
    return element("div", content, class_="scroll", tabindex=0, role="region", aria_label=table.caption or "table")


def _cell(cell: Cell | None, place: int) -> Html:
    if cell is None:
        return element("td", "–", data_missing=True)
    content = element("code", cell.text) if cell.code else element("b", cell.text) if cell.best else cell.text
    spread = element("span", f" ± {cell.spread}", class_="spread") if cell.spread else None
    name = {} if place else {"scope": "row"}
    return element("td" if place else "th", joined([content, spread]), **name, data_value=cell.value)
