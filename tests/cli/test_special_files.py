"""No command waits for a named pipe, a device or a socket, whichever option names it and wherever it lies.

Options come from the parsers, files from what the commands write: new ones are covered without a word here.
"""

import os
import signal
import socket
from contextlib import contextmanager

import pytest

from cli.working import choices, leave, name_of

SECONDS = 30
"""A command that opens none of them is over long before; one that waits for a writer never is."""
ENDINGS = ("", ".csv", ".h5", ".nii.gz", ".npy", ".npz", ".png", ".yaml")
KINDS = ("pipe", "device", "socket")
READ = ("path", "NoneType")
WRITTEN = ("own_output_file", "output_folder", "_folder")
"""Types of options that name what is read, by any name, and what is written."""
NO_FILES = ("--case", "--only", "--logger")
FILES = [
    choice
    for choice in choices()
    if getattr(choice.action.type, "__name__", "NoneType") in (*READ, *WRITTEN)
    and choice.action.nargs != 0
    and choice.action.choices is None
    and not set(NO_FILES) & set(choice.action.option_strings)
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
    reads = getattr(choice.action.type, "__name__", "NoneType") in READ
    names = [f"pipe{ending}" for ending in (ENDINGS if reads else ENDINGS[:1])] + ["device", "device.npy", "socket"]
    for name in names:
        with no_waiting():
            code = leave(choice.given(f"special/{name}"))
        assert code == 2, name
        assert "somamba: " in capsys.readouterr().err, name
    assert {path.name for path in special.iterdir()} == {f"{kind}{one}" for kind in KINDS for one in ENDINGS}
