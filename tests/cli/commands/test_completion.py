"""Completion is generated from the parsers, and bash understands it."""

import subprocess

import pytest

from somamba.cli.commands.completion import SHELLS, completions
from somamba.cli.main import COMMANDS, main


def complete(*words):
    """What bash proposes for the last of the words."""
    script = SHELLS["bash"](list(completions()))
    line = " ".join(f"'{word}'" for word in ("somamba", *words))
    code = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _somamba; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_are_completed():
    assert complete("") == [*COMMANDS, "--help", "--version"]
    assert complete("rec") == ["reconstruct"]


def test_options_and_their_values_are_completed():
    assert complete("evaluate", "--batch") == ["--batch-size"]
    assert complete("evaluate", "zero_filled", "--split", "") == ["train", "val", "test"]
    assert complete("cost", "hifi") == ["hifi_mamba"]


def test_weights_are_completed_by_what_can_be_used_without_a_training():
    usable = ["zero_filled", "cg_sense", "l1_wavelet"]
    assert complete("evaluate", "") == usable
    assert complete("reconstruct", "scan.h5", "--weights", "") == ["brain_raw", *usable]
    assert complete("demo", "--weights", "br") == ["brain_raw"]


def test_parts_of_a_command_are_completed():
    assert complete("figure", "str") == ["streams"]
    assert complete("figure", "streams", "--un") == ["--units"]
    assert complete("data", "show", "ac") == ["acdc"]


def test_where_nothing_is_known_bash_completes_file_names():
    assert complete("inspect", "sc") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_option_is_there(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    for one in completions():
        assert all(word in text for word in one.words)
        for name in one.options:
            assert (f"-l {name[2:]}" if shell == "fish" and name.startswith("--") else name.lstrip("-")) in text


def test_quotes_in_help_texts_are_escaped():
    for line in SHELLS["fish"](list(completions())).splitlines()[1:]:
        assert (line.count("'") - line.count("\\'")) % 2 == 0, line
