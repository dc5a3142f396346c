"""Only regular files are opened; everything else is refused at once."""

import os
import socket

import pytest

from inference.checkpoints import save_tiny
from somamba.data.readers.acdc import read_info
from somamba.errors import SomambaError
from somamba.files import reading
from somamba.inference.jobs import fingerprint
from somamba.inference.weights.checkpoint import read_checkpoint
from somamba.raw.opening import open_raw_scan
from somamba.regular_files import check_regular, open_regular, read_regular
from somamba.report.sources import gather
from somamba.results.gallery import MEASUREMENT, read_gallery
from somamba.results.journal import read_journal
from somamba.results.record import read_records
from somamba.results.scores import ScoreRecord
from somamba.training.recipe import read_yaml


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


def _run(path):
    (path.parent / "trained").mkdir()
    (path.parent / "trained" / "journal.jsonl").symlink_to(path)
    gather([path.parent / "trained"])


def _checkpoint(path):
    folder = save_tiny(path.parent / "trained")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(path)
    read_checkpoint(folder)


def _gallery(path):
    case = path.parent / "kept" / "case"
    case.mkdir(parents=True)
    (case / f"{MEASUREMENT}.json").symlink_to(path)
    read_gallery(case.parent)


PLACES = {
    "scan.h5": open_raw_scan,
    "scan.npz": reading.inspect,
    "scan.nii.gz": lambda path: reading.read(path, "image", 0, 1),
    "scan.cfl": fingerprint,
    "Info.cfg": read_info,
    "recipe.yaml": read_yaml,
    "checkpoint": _checkpoint,
    "results.csv": lambda path: read_records(ScoreRecord, path),
    "report.csv": lambda path: gather([path]),
    "run": _run,
    "journal.jsonl": read_journal,
    "gallery": _gallery,
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("make", [fifo, device])
def test_no_place_that_opens_a_users_file_waits_for_something_else(name, make, tmp_path):
    (tmp_path / "odd").mkdir()
    odd = make(tmp_path / "odd")
    odd.rename(tmp_path / name)
    with pytest.raises(SomambaError):
        PLACES[name](tmp_path / name)
