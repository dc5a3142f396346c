"""No command shows a traceback for any value of any option: the options come from the parsers, new ones included."""

import argparse
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
import yaml

from models.small import perturb, shrink
from raw.made import coil_kspace
from somamba.cli.main import COMMANDS, main, parser_of
from somamba.data.config import DataConfig
from somamba.errors import SomambaError
from somamba.inference.weights.checkpoint import Checkpoint, save_checkpoint
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS
from somamba.settings import to_plain
from somamba.training.recipe import read_recipe, recipe_parser
from training.tiny import write_data

ODD = (
    *("", " ", "0", "-1", "1", "3.5", "nan", "inf", "9" * 25, "x", "--", "{a: [", "%(prog)s", "n" * 5000),
    *("a\x1b[2Jb", "\u202e", "\udcff", "missing/file.csv", ".", "folder", "text.txt", "text.txt/below", "x.png"),
)

DATA = ("--dataset", "acdc", "--data", "acdc", "--split", "val", "--cache", "cache", "--device", "cpu")
WORKING = {
    ("doctor",): (),
    ("models",): ("--size", "16"),
    ("cost",): ("zero_filled", "--size", "16", "--no-measure"),
    ("data", "check"): ("acdc", "acdc"),
    ("data", "show"): ("acdc", "acdc", "--case", "patient001", "-o", "shown.png"),
    ("demo",): ("--weights", "zero_filled", "-o", "shown"),
    ("inspect",): ("scan.npy",),
    ("reconstruct",): ("scan.npy", "-o", "image.npy", "--weights", "zero_filled"),
    ("train",): ("recipe.yaml", "--dry-run"),
    ("sweep",): ("grid.yaml", "--dry-run"),
    ("evaluate",): ("zero_filled", *DATA),
    ("leakage",): ("best", *DATA),
    ("streams",): ("best", *DATA, "-o", "made.npz"),
    ("figure", "reconstructions"): ("gallery", "-o", "drawn.png"),
    ("figure", "leakage"): ("leakage.csv", "-o", "drawn.png"),
    ("figure", "spectra"): ("streams.npz", "-o", "drawn.png"),
    ("figure", "streams"): ("streams.npz", "-o", "drawn.png"),
    ("figure", "gates"): ("best", "-o", "drawn.png"),
    ("curve",): ("run", "-o", "drawn.png"),
    ("table",): ("scores.csv",),
    ("compare",): ("scores.csv", "other.csv"),
    ("completion",): ("bash",),
    ("report",): ("scores.csv", "-o", "made.html"),
    ("weights", "verify"): ("brain_raw",),
    ("weights", "show"): ("brain_raw",),
    ("weights", "export"): ("brain_raw", "exported"),
}
"""Arguments with which each command works, in the folder that `place` makes."""


def parts():
    """Every command, or part of one, with its parser."""
    for command in COMMANDS:
        parser = parser_of(command)
        inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not inner:
            yield (command,), parser
        for name, part in inner[0].choices.items() if inner else ():
            yield (command, name), part


def cases():
    """Every option and argument of every part."""
    for words, parser in parts():
        for action in parser._actions:
            if not isinstance(action, argparse._HelpAction) and "--help" not in action.option_strings:
                yield pytest.param(words, action, id=" ".join([*words, *(action.option_strings[-1:] or [action.dest])]))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder in which every command of `WORKING` works."""
    folder = tmp_path_factory.mktemp("place")
    data = replace(write_data(folder), path="acdc", cache="cache")
    (folder / "folder").mkdir()
    (folder / "text.txt").write_text("text\n")
    (folder / "empty.csv").write_text("")
    np.save(folder / "scan.npy", coil_kspace(3, 32, 40))
    network = shrink(VARIANTS["so_mamba_adaptive"])
    config = {"recipe": {"model": "so_mamba_adaptive", "network": to_plain(network), "data": to_plain(data), "seed": 0}}
    torch.manual_seed(0)
    weights = perturb(MODELS["so_mamba_adaptive"].build(network)).state_dict()
    config |= {"protocol": "magnitude", "step": 10, "steps_per_epoch": 4}
    save_checkpoint(folder / "best", Checkpoint(weights, config))
    recipe = {
        "network": {"groups": 1, "units": 1, "channels": 16, "d_model": 8, "mixer": {"d_head": 8}},
        "data": to_plain(DataConfig(path="acdc", cache="cache", size=(16, 16))),
        "optimiser": {"warmup_epochs": 0.5},
        "epochs": 1,
        # One slice cannot be shared, so a dry run starts no further processes.
        "batch_size": 1,
        "machine": {"device": "cpu", "threads": 1},
    }
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    (folder / "grid.yaml").write_text(yaml.safe_dump({"base": "recipe.yaml", "runs": [{"name": "one"}]}))
    return folder


@pytest.fixture(scope="module")
def results(place):
    """The files that commands read and other commands write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main(["evaluate", "zero_filled", *DATA, "--csv", "scores.csv", "--keep", "gallery"]) == 0
        assert main(["evaluate", "cg_sense", *DATA, "--csv", "other.csv"]) == 0
        assert main(["leakage", "best", *DATA, "--csv", "leakage.csv"]) == 0
        assert main(["streams", "best", *DATA, "-o", "streams.npz"]) == 0
        assert main(["train", "recipe.yaml", "--output", "run"]) == 0


@pytest.fixture
def _inside(place, results, monkeypatch):  # noqa: ARG001
    monkeypatch.chdir(place)


def without(words, action):
    """The arguments of a working command less those of one option."""
    kept, skip = [], False
    for word in words:
        if word.startswith("-"):
            skip = word in action.option_strings
        if not skip:
            kept.append(word)
        skip = skip and word in action.option_strings
    return kept


def leave(words):
    """The exit code of a command; any exception but those that leave is the defect this is about."""
    try:
        return main(words)
    except SystemExit as leaving:
        return leaving.code or 0


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("words", WORKING, ids=" ".join)
def test_the_command_works_to_begin_with(words):
    assert leave([*words, *WORKING[words]]) == 0


def test_every_part_of_every_command_is_tried():
    assert set(WORKING) == {words for words, _ in parts()}


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize(("words", "action"), list(cases()))
def test_no_value_of_an_option_ends_in_a_traceback(words, action, capsys):
    base = list(WORKING[words])
    if not action.option_strings:
        tries = [[*words, value, *base[1:]] for value in ODD]
    elif action.nargs == 0:
        tries = [[*words, *base, action.option_strings[-1], *more] for more in ([], ["x"])]
        tries.append([*words, *base, f"{action.option_strings[-1]}=x"])
    else:
        kept = without(base, action)
        tries = [[*words, *kept, f"{action.option_strings[-1]}={value}"] for value in ODD]
        tries.append([*words, *kept, action.option_strings[-1]])
    for arguments in tries:
        code = leave(arguments)
        printed = capsys.readouterr()
        assert code in (0, 2), arguments
        assert code == 0 or "somamba: " in printed.err, arguments
        assert "\x1b[2J" not in printed.out + printed.err
        assert "\u202e" not in printed.out + printed.err


FIELDS = [action.dest for action in recipe_parser("so_mamba")._actions if action.dest not in ("help", "print_config")]


@pytest.mark.parametrize("name", FIELDS)
def test_no_value_of_a_field_ends_in_a_traceback(name, place):
    for value in ("", "-1", "nan", "[]", "{a: 1}", "null", "text.txt", str(2**70)):
        with suppress(SomambaError):
            read_recipe(place / "recipe.yaml", [f"--{name}={value}"])


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
