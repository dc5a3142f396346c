"""Saving: the ending decides, nothing is half written, equal figures are equal files."""

import pytest

from report.figures.words import words_of
from somamba.errors import InputError
from somamba.report.figures.canvas import caption, caption_lines, figure_bytes, new_figure, plain, save_figure

pytest.importorskip("matplotlib")


def drawn():
    figure = new_figure(3, 2)
    figure.subplots().plot([1, 2, 3])
    return figure


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_the_ending_decides_the_format(tmp_path, ending, start):
    save_figure(drawn(), tmp_path / f"x{ending}")
    assert (tmp_path / f"x{ending}").read_bytes().startswith(start)


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.png, \.pdf, \.svg"):
        save_figure(drawn(), tmp_path / "x.jpg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_figure_drawn_twice_gives_the_same_file(kind):
    assert figure_bytes(drawn(), kind) == figure_bytes(drawn(), kind)


def test_a_caption_is_broken_to_the_width_and_loses_no_word():
    text = "one two three four five six seven eight nine ten " * 4
    figure = drawn()
    caption(figure, text)
    assert max(map(len, caption_lines(text, 3))) < 60
    assert words_of(figure).count("seven") == 4


def test_a_name_between_dollars_is_no_formula():
    figure = drawn()
    caption(figure, "$\\frac{$ broken")
    assert "broken" in words_of(figure)
    assert plain("a$b") == "a\\$b"
