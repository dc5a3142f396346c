"""No command waits for a named pipe, a device or a socket, whichever option names it and wherever it lies.

Options come from the parsers, files from what the commands write: new ones are covered without a word here.
"""

import os
import signal
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.working import WORKING, choices, leave, name_of

SECONDS = 30
"""A command that opens none of them is over long before; one that waits for a writer never is."""
ENDINGS = ("", ".csv", ".h5", ".nii.gz", ".npy", ".npz", ".png", ".yaml")
NUMBERS = ("read", "adaptation_steps", "image_size", "_processes", "_shard", "words", "title")
"""Types of options whose values name no file."""
FILES = [
    choice
    for choice in choices()
    if choice.action.nargs != 0
    and choice.action.choices is None
    and getattr(choice.action.type, "__name__", "") not in NUMBERS
]


@pytest.fixture(scope="module")
def special(place):
    """Named pipes, devices and sockets with the names of files that commands take, in the folder of all commands."""
    folder = place / "special"
    folder.mkdir()
    for ending in ENDINGS:
        os.mkfifo(folder / f"pipe{ending}")
        (folder / f"device{ending}").symlink_to("/dev/zero")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(folder / f"socket{ending}"))  # an absolute name would be too long
    return folder


@contextmanager
def no_waiting():
    """Fail where a command still waits after `SECONDS`; a blocked call of the system is interrupted."""

    def waited(*_given):
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, waited)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_many_options_take_files():
    names = {name_of(choice) for choice in FILES}
    assert {
        "data check path",
        "reconstruct --template",
        "evaluate --cache",
        "inspect --maps",
        "report --output",
    } <= names
    assert len(names) > 50


@pytest.mark.usefixtures("_inside")
@pytest.mark.parametrize("choice", FILES, ids=name_of)
def test_no_option_waits_for_what_is_not_a_file(choice, special, capsys):
    ending = "".join(Path(next(iter(WORKING[choice.words]), "")).suffixes)
    for kind in ("pipe", "device", "socket"):
        for value in sorted({f"{kind}{one}" for one in (*ENDINGS, ending) if (special / f"{kind}{one}").exists()}):
            with no_waiting():
                code = leave(choice.given(f"special/{value}"))
            assert code in (0, 2), value
            assert code == 0 or "somamba: " in capsys.readouterr().err, value
