"""Text that reaches the terminal: cleaned, in any encoding, and quiet when the reader has left."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from somamba.cli.main import CLOSED_PIPE, main
from somamba.cli.output import clean, complain, make_console, say, say_json

HOSTILE = "a\x1b[2Jb\x07c\x9bd\u202ee\u2066f\u200bg\x7fh\udcffi\ufeffj"
SHOWN = r"a\x1b[2Jb\x07c\x9bd\u202ee\u2066f\u200bg\x7fh\udcffi\ufeffj"


def test_what_would_steer_a_terminal_is_made_visible():
    assert clean(HOSTILE) == SHOWN


def test_what_people_write_is_left_alone():
    text = "Zürich ± 0.5 dB\tשלום 頭部 x² 🙂\n"
    assert clean(text) == text


def test_every_door_cleans(capsys):
    say(HOSTILE)
    complain(HOSTILE)
    make_console().print(HOSTILE, markup=False)
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == SHOWN
    assert printed.err == f"somamba: {SHOWN}\n"
    assert not {"\x1b", "\u202e", "\x9b"} & set(printed.out + printed.err)


def test_cells_and_titles_of_tables_are_cleaned(capsys):
    from rich.table import Table

    table = Table("head \x1b[31m", title="title \u202e")
    table.add_row("cell \x1b]0;owned\x07")
    make_console().print(table)
    printed = capsys.readouterr().out
    assert r"cell \x1b]0;owned\x07" in printed
    assert not {"\x1b", "\u202e", "\x07"} & set(printed)


def test_a_hostile_name_in_an_argument_is_cleaned(capsys):
    for words in ([HOSTILE], ["table", f"--{HOSTILE}"], ["cost", "--size", HOSTILE], ["inspect", f"{HOSTILE}.npy"]):
        assert main(words) == 2
        printed = capsys.readouterr()
        assert not {"\x1b", "\u202e", "\x07", "\x9b"} & set(printed.out + printed.err)


def test_json_is_ascii_and_has_no_nan(capsys):
    say_json({"psnr": float("nan"), "size": (1, 2), "name": HOSTILE})
    text = capsys.readouterr().out
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["psnr"] is None


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_any_encoding_can_be_printed(encoding):
    code = "from somamba.cli.output import *; from somamba.cli.output import prepared_streams as p\n"
    code += "with p():\n  say('1 ± 2 × 頭'); complain('3 → 4')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": encoding}
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode(encoding)
    assert text == {"ascii": "1 +- 2 x ?\n", "utf-8": "1 ± 2 × 頭\n"}.get(encoding, "1 ± 2 × ?\n")


RESULTS = Path(__file__).parents[2] / "results"
SCORES = [str(RESULTS / f"{name}_acdc_x4_val.csv") for name in ("so_mamba", "zero_filled")]


@pytest.mark.parametrize("words", [["table", *SCORES], ["compare", *SCORES], ["--help"], ["table", "--help"]])
@pytest.mark.parametrize("setting", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_commands_print_their_tables_without_utf_8(words, setting):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "-m", "somamba", *words],
        capture_output=True,
        check=False,
        env=environment | {"PYTHONCOERCECLOCALE": "0"} | setting,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    if "PYTHONIOENCODING" in setting:
        assert done.stdout.isascii()
    if len(words) == 3:
        assert b"SO-Mamba" in done.stdout


def test_a_reader_that_leaves_ends_the_command_quietly():
    command = f"{sys.executable} -m somamba --help; echo $? >&2"
    done = subprocess.run(["bash", "-c", f"({command}) | head -c 0"], capture_output=True, text=True, check=False)
    assert done.stderr == f"{CLOSED_PIPE}\n"


def test_a_reader_that_leaves_is_no_defect_for_tables_either():
    code = "from somamba.cli.output import make_console; make_console().print('x' * 100_000)"
    program = f"import sys; from somamba.cli import main as m; m._run = lambda _: exec({code!r}); sys.exit(m.main([]))"
    words = shlex.join([sys.executable, "-c", program])
    done = subprocess.run(["bash", "-c", f"({words}; echo $? >&2) | true"], capture_output=True, text=True, check=False)
    assert done.stderr == f"{CLOSED_PIPE}\n"


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_is_closed_is_no_defect(closing):
    command = shlex.join([sys.executable, "-m", "somamba"])
    done = subprocess.run(["bash", "-c", f"{command} --help {closing}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(["bash", "-c", f"{command} nonsense {closing}"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
