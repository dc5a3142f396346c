"""Only regular files are opened; everything else is refused at once."""

import os
import socket

import pytest

from somamba.regular_files import check_regular, open_regular, read_regular


def fifo(folder):
    os.mkfifo(folder / "a")
    return folder / "a"


def unix_socket(folder):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "a"))
    return folder / "a"


def device(folder):
    (folder / "a").symlink_to("/dev/zero")
    return folder / "a"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (fifo, "It is a named pipe"),
        (unix_socket, "It is a socket, not a regular file"),
        (device, "It is a device"),
        (lambda folder: folder, "It is a folder"),
        (lambda folder: folder / "missing", "No such file"),
    ],
)
@pytest.mark.parametrize("opening", [check_regular, open_regular, read_regular])
def test_everything_else_is_refused_at_once(make, words, opening, tmp_path):
    with pytest.raises(OSError, match=words) as caught:
        opening(make(tmp_path))
    assert caught.value.strerror.startswith(words)


def test_a_file_and_a_link_to_one_are_read(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read_regular(tmp_path / "a") == read_regular(tmp_path / "link", most=7) == b"content"
    with open_regular(tmp_path / "link") as file:
        assert file.read(3) == b"con"


def test_more_than_is_wanted_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"content")
    with pytest.raises(OSError, match="larger than 6 bytes"):
        read_regular(tmp_path / "a", most=6)
