"""No command shows a traceback for any value of any option: the options come from the parsers, new ones included."""

from contextlib import suppress

import pytest

from cli.working import WORKING, choices, leave, name_of, parts
from somamba.errors import SomambaError
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS
from somamba.training.recipe import read_recipe, recipe_parser

ODD = (
    *("", " ", "0", "-1", "1", "3.5", "nan", "inf", "9" * 25, "x", "--", "{a: [", "%(prog)s", "n" * 5000),
    *("a\x1b[2Jb", "\u202e", "\udcff", "missing/file.csv", ".", "folder", "text.txt", "text.txt/below", "x.png"),
)


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("words", WORKING, ids=" ".join)
def test_the_command_works_to_begin_with(words):
    assert leave([*words, *WORKING[words]]) == 0


def test_every_part_of_every_command_is_tried():
    assert set(WORKING) == {words for words, _ in parts()}


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("choice", list(choices()), ids=name_of)
def test_no_value_of_an_option_ends_in_a_traceback(choice, capsys):
    if not choice.action.option_strings:
        tries = [choice.given(value) for value in ODD]
    elif choice.action.nargs == 0:
        tries = [choice.given(), [*choice.given(), "x"], choice.given("x")]
    else:
        tries = [choice.given(), *(choice.given(value) for value in ODD)]
    for arguments in tries:
        code = leave(arguments)
        printed = capsys.readouterr()
        assert code in (0, 2), arguments
        assert code == 0 or "somamba: " in printed.err, arguments
        assert "\x1b[2J" not in printed.out + printed.err
        assert "\u202e" not in printed.out + printed.err


CLASSES = {type(entry.config): name for name, entry in MODELS.items()}
FIELDS = {
    f"{name} {action.dest}": (name, action.dest)
    for name in ("so_mamba", *(name for name in CLASSES.values() if name not in VARIANTS))
    for action in recipe_parser(name)._actions
    if action.dest not in ("help", "print_config") and (name == "so_mamba" or action.dest.startswith("network"))
}
"""Every field of a recipe, and those of the networks of all other methods."""


@pytest.mark.parametrize(("model", "name"), FIELDS.values(), ids=FIELDS)
def test_no_value_of_a_field_ends_in_a_traceback(model, name, place):
    for value in ("", "-1", "nan", "[]", "{a: 1}", "null", "text.txt", str(2**70)):
        with suppress(SomambaError):
            read_recipe(place / "any.yaml", [f"--model={model}", f"--{name}={value}"])


WRITTEN = {
    ("data", "show"): "shown.png",
    ("demo",): "shown/demo.html",
    ("reconstruct",): "image.npy",
    ("streams",): "made.npz",
    **{words: "drawn.png" for words in WORKING if words[0] in ("figure", "curve")},
    ("report",): "made.html",
}
"""The file that each command of `WORKING` writes, in the folder that `place` makes."""


def test_every_command_that_writes_a_file_is_known():
    names = {"output", "csv"}
    writing = {words for words, parser in parts() if names & {action.dest for action in parser._actions}}
    by_csv = {("evaluate",), ("leakage",), ("cost",)}
    of_runs = {("train",), ("sweep",)}  # they refuse a folder that holds a run
    assert writing == WRITTEN.keys() | by_csv | of_runs


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("words", WRITTEN, ids=" ".join)
def test_a_file_of_somebody_else_is_not_replaced(words, place, capsys):
    content = b"#!/bin/sh\nsomamba train recipe.yaml  # a script that mentions somamba is not a result of it\n"
    file = place / WRITTEN[words]
    assert leave([*words, *WORKING[words]]) == 0
    assert leave([*words, *WORKING[words]]) == 0, "its own file may be replaced"
    file.write_bytes(content)
    assert leave([*words, *WORKING[words]]) == 2
    assert "not replaced" in capsys.readouterr().err
    assert file.read_bytes() == content
    file.unlink()


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("words", [("evaluate",), ("leakage",), ("cost",)], ids=" ".join)
def test_a_table_of_somebody_else_is_not_replaced(words, place):
    (place / "mine.csv").write_text("patient,remark\n1,measured with somamba\n")
    assert leave([*words, *WORKING[words], "--csv", "mine.csv"]) == 2
    assert (place / "mine.csv").read_text() == "patient,remark\n1,measured with somamba\n"


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_figures_of_all_formats_say_whose_they_are(ending):
    for _ in range(2):
        assert leave(["curve", "run", "-o", f"curve.{ending}"]) == 0
