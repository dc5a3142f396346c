"""Arguments with which every command works, in a folder that `conftest.py` makes."""

import argparse
from typing import NamedTuple

from somamba.cli.main import COMMANDS, main, parser_of

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
"""Arguments with which each command works, in the folder of the fixture `place`."""


def parts():
    """Every command, or part of one, with its parser."""
    for command in COMMANDS:
        parser = parser_of(command)
        inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
        if not inner:
            yield (command,), parser
        for name, part in inner[0].choices.items() if inner else ():
            yield (command, name), part


class Choice(NamedTuple):
    """An option or an argument of a command."""

    words: tuple[str, ...]
    """The command, or its part."""
    action: argparse.Action
    place: int
    """The number of an argument among those without a name."""

    def given(self, *values):
        """The words of the working command with other values for this one; without values, its bare name."""
        base = WORKING[self.words]
        if not self.action.option_strings:
            return [*self.words, *base[: self.place], *values, *base[self.place + 1 :]]
        name = self.action.option_strings[-1]
        return [*self.words, *self._others(), *(f"{name}={value}" for value in values)] + ([] if values else [name])

    def _others(self):
        kept, skip = [], False
        for word in WORKING[self.words]:
            if word.startswith("-"):
                skip = word in self.action.option_strings
            if not skip:
                kept.append(word)
            skip = skip and word in self.action.option_strings
        return kept


def choices():
    """Every option and argument of every part, but for those that ask for help."""
    for words, parser in parts():
        nameless = [action for action in parser._actions if not action.option_strings]
        for action in parser._actions:
            if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction):
                yield Choice(words, action, nameless.index(action) if action in nameless else 0)


def name_of(choice):
    """The name of a test."""
    return " ".join([*choice.words, *(choice.action.option_strings[-1:] or [choice.action.dest])])


def leave(words):
    """The exit code of a command; any exception but those that leave is the defect this is about."""
    try:
        return main(words)
    except SystemExit as leaving:
        return leaving.code or 0
