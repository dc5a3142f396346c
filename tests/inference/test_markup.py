"""Tables for notebooks hold text, never markup of their own."""

from somamba.inference.markup import html_table


def test_a_table_has_a_row_for_each_entry_and_escapes_it():
    assert html_table({"a": "1", "<b>": "x & y"}) == (
        "<table><tr><th>a</th><td>1</td></tr><tr><th>&lt;b&gt;</th><td>x &amp; y</td></tr></table>"
    )
