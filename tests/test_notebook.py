"""Tables that a notebook shows."""

from somamba.notebook import html_table


def test_a_table_has_a_row_for_each_entry_and_escapes_it():
    assert html_table({"a": "1", "<b>": "x & y"}) == (
        "<table><tr><th>a</th><td>1</td></tr><tr><th>&lt;b&gt;</th><td>x &amp; y</td></tr></table>"
    )
