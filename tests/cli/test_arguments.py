"""Exact names, helpful refusals, numbers within bounds."""

import argparse
from pathlib import Path

import pytest

from somamba.cli.arguments import (
    CommandParser,
    RecipeParser,
    image_size,
    real,
    title,
    whole,
)
from somamba.errors import UsageError


def refused(parser, *words):
    with pytest.raises(UsageError) as refusal:
        parser.parse_args(list(words))
    return str(refusal.value)


def made():
    parser = CommandParser(prog="somamba made", description="Made up.")
    parser.add_argument("--batch-size", type=whole(1))
    parser.add_argument("--split", choices=("train", "val", "test"))
    parser.add_old_name("--batch", "--batch-size")
    return parser


def test_an_abbreviation_is_refused_with_the_full_name():
    text = refused(made(), "--batch-siz", "3")
    assert text == "There is no option --batch-siz. Did you mean '--batch-size'? See: somamba made --help"


def test_an_abbreviation_is_refused_in_a_part_of_a_command():
    parser = CommandParser(prog="somamba made", description="Made up.")
    part = parser.add_subparsers(dest="part").add_parser("part")
    part.add_argument("--error-range")
    assert "Did you mean '--error-range'?" in refused(parser, "part", "--error-rang", "3")


def test_a_choice_that_is_not_known_gets_the_nearest():
    text = refused(made(), "--split", "tset")
    assert "'tset' is not known. Did you mean 'test'? Choose from train, val, test." in text


def test_one_argument_too_many_is_refused():
    assert "'stray' is one argument too many" in refused(made(), "stray")


def test_an_old_name_is_read_with_a_note(capsys):
    assert made().parse_args(["--batch", "3"]).batch_size == 3
    assert made().parse_args(["--batch=4"]).batch_size == 4
    assert capsys.readouterr().err.count("note: --batch is called --batch-size now") == 2


def test_fields_of_a_recipe_are_spelt_like_options(capsys):
    parser = RecipeParser(prog="somamba made", usage="%(prog)s RECIPE")
    parser.add_argument("--dry-run", action="store_true")
    words = ["r.yaml", "--batch-size", "3", "--dry-run", "--data.mask_options={a-b: 1}"]
    options = parser.parse_args(words)
    assert (options.path, options.dry_run) == (Path("r.yaml"), True)
    assert options.fields == ["--batch_size", "3", "--data.mask_options={a-b: 1}"]
    assert capsys.readouterr().err.count("note:") == 1


def test_the_recipe_comes_first():
    parser = RecipeParser(prog="somamba made", usage="%(prog)s RECIPE")
    for words in ([], ["--dry-run", "r.yaml"]):
        with pytest.raises(UsageError, match="The file comes first: somamba made RECIPE"):
            parser.parse_args(words)
    with pytest.raises(UsageError, match="There is no option --config; the file comes first"):
        parser.parse_args(["r.yaml", "--config=other.yaml"])


def test_an_option_without_its_value_is_refused():
    assert "'--' is not a value" in refused(made(), "--batch-size=--")


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "1e400", "9" * 5000, "nan", "4097", "3.5"])
def test_numbers_out_of_bounds_are_refused(text):
    for kind in (whole(1, 4096), image_size):
        with pytest.raises(Exception, match="is not a"):
            kind(text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "0.5", "1e400", "x", "1025"])
def test_real_numbers_are_finite_and_within_bounds(text):
    with pytest.raises(Exception, match="is not a number from 1 to 1024"):
        real(1, 1024)(text)


def test_a_misspelt_name_is_told_before_what_is_missing_without_it():
    parser = made()
    parser.add_argument("-o", "--output", required=True)
    assert "There is no option --out. Did you mean '--output'?" in refused(parser, "--out", "x")
    assert "There is no option --outptu. Did you mean '--output'?" in refused(parser, "--outptu=x")
    assert "There is no option -x." in refused(parser, "-o", "x", "-x")
    assert "-o/--output" in refused(parser, "--split", "val")


def test_a_title_in_utf_8_is_read_in_any_locale_and_other_bytes_are_refused():
    in_locale_c = "Zürich ± 頭".encode().decode("ascii", "surrogateescape")
    assert title(in_locale_c) == title("Zürich ± 頭") == "Zürich ± 頭"
    for text in (b"Z\xfcrich".decode("utf-8", "surrogateescape"), "\ud800"):
        with pytest.raises(argparse.ArgumentTypeError, match="not text in UTF-8"):
            title(text)
