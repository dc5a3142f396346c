"""Text from files stays text."""

from somamba.report.page.markup import Html, element, joined


def test_text_is_escaped_and_markup_is_not():
    assert element("p", "<b>&\"'", Html("<i>")) == "<p>&lt;b&gt;&amp;&quot;&#x27;<i></p>"


def test_an_attribute_cannot_be_left_by_its_value():
    assert element("td", "x", data_value='1" onclick="a') == '<td data-value="1&quot; onclick=&quot;a">x</td>'


def test_attributes_that_are_off_are_left_out():
    assert element("div", hidden=False, id=None, class_="a") == '<div class="a"></div>'
    assert element("div", hidden=True) == "<div hidden></div>"


def test_an_element_without_content_has_no_end():
    assert element("img", src="data:x") == '<img src="data:x">'


def test_what_stands_between_pieces_is_escaped_too():
    assert joined(["a", None, "b"], "<") == "a&lt;b"
    assert isinstance(joined([]), Html)


def test_signs_that_turn_the_writing_or_steer_a_terminal_are_shown():
    html = element("p", "a\u202eb\x1b[2J", title="x\u2066")
    assert html == '<p title="x\\u2066">a\\u202eb\\x1b[2J</p>'
    assert element("p", "two\nlines") == "<p>two\nlines</p>"
