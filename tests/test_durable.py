"""A file or folder is the old one or the new one, whatever happens while it is replaced."""

import os
from contextlib import contextmanager
from functools import partial

import pytest

from full_disk import largest_file
from somamba.durable import current, replace_file, replace_folder
from somamba.errors import StorageError

OLD = {"a": b"old", "b": b"old too"}
NEW = {"a": b"n" * 3000, "c": b"new"}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Killed(BaseException):
    """Stands for kill -9: nothing may catch it."""


def counted(function, calls, last):
    def call(*arguments, **options):
        calls.append(function.__name__)
        if len(calls) == last:
            raise Killed
        return function(*arguments, **options)

    return call


@contextmanager
def kill_at(monkeypatch, number):
    """Die at the n-th call to the system, before it does anything; yields how many there were."""
    calls = []
    with monkeypatch.context() as patch:
        for name in ("write", "fsync", "rename", "mkdir", "unlink", "rmdir"):
            patch.setattr(os, name, counted(getattr(os, name), calls, number))
        yield calls


def test_a_folder_gets_exactly_its_new_files(tmp_path):
    replace_folder(tmp_path / "deep" / "x", OLD)
    replace_folder(tmp_path / "deep" / "x", NEW)
    assert contents(tmp_path / "deep" / "x") == NEW
    assert [p.name for p in (tmp_path / "deep").iterdir()] == ["x"]


def test_a_kill_at_any_call_leaves_the_old_folder_or_the_new_one(tmp_path, monkeypatch):
    replace_folder(tmp_path / "count", OLD)
    with kill_at(monkeypatch, 0) as calls:
        replace_folder(tmp_path / "count", NEW)
    assert {"write", "fsync", "rename", "mkdir"} <= set(calls)
    seen = []
    for number in range(1, len(calls) + 1):
        folder = tmp_path / str(number) / "x"
        replace_folder(folder, OLD)
        with kill_at(monkeypatch, number), pytest.raises(Killed):
            replace_folder(folder, NEW)
        seen.append(contents(current(folder)))
        replace_folder(folder, NEW)
        assert contents(current(folder)) == NEW
        assert [p.name for p in folder.parent.iterdir()] == ["x"]
    assert all(found in (OLD, NEW) for found in seen)
    assert seen[0] == OLD
    assert seen[-1] == NEW


def test_a_full_disk_keeps_the_old_folder_and_leaves_nothing_else(tmp_path):
    replace_folder(tmp_path / "x", OLD)
    with largest_file(1000), pytest.raises(StorageError, match=r"needs 3,003 bytes and [\d,]+ are free"):
        replace_folder(tmp_path / "x", NEW)
    assert contents(tmp_path / "x") == OLD
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_full_disk_keeps_the_old_file_and_leaves_nothing_else(tmp_path):
    replace_file(tmp_path / "x", b"old")
    with largest_file(1000), pytest.raises(StorageError, match="are free there"):
        replace_file(tmp_path / "x", b"n" * 3000)
    assert contents(tmp_path) == {"x": b"old"}


@contextmanager
def overtaken_by(monkeypatch, other, *, process):
    """Lets another process, with a number of its own, do something while the first one flushes its first file."""
    fsync, waiting = os.fsync, [other]

    def flush(handle):
        if waiting:
            with monkeypatch.context() as patch:
                patch.setattr(os, "getpid", lambda: process)
                waiting.pop()()
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", flush)
        yield


def test_of_two_processes_that_write_the_same_file_the_first_wins_whole(tmp_path, monkeypatch):
    other = partial(replace_file, tmp_path / "x[1]", b"other" * 9, shared=True)
    with overtaken_by(monkeypatch, other, process=1), pytest.raises(StorageError, match="No such file"):
        replace_file(tmp_path / "x[1]", b"own", shared=True)
    assert contents(tmp_path) == {"x[1]": b"other" * 9}


def test_of_two_processes_that_write_the_same_folder_the_first_wins_whole(tmp_path, monkeypatch):
    other = partial(replace_folder, tmp_path / "x", OLD, shared=True)
    with overtaken_by(monkeypatch, other, process=1), pytest.raises(StorageError, match="No such file"):
        replace_folder(tmp_path / "x", NEW, shared=True)
    assert contents(tmp_path / "x") == OLD
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path, monkeypatch):
    for name in ("x", "x.y"):
        with kill_at(monkeypatch, 3), pytest.raises(Killed):
            replace_file(tmp_path / name, b"killed", shared=True)
    left = contents(tmp_path)
    assert len(left) == 2
    monkeypatch.setattr(os, "getpid", lambda: 1)
    replace_file(tmp_path / "x", b"next", shared=True)
    assert contents(tmp_path) == {"x": b"next"} | {name: content for name, content in left.items() if "x.y" in name}


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=r"file/x could not be written: Not a directory"):
        replace_folder(tmp_path / "file" / "x", NEW)


def test_an_interrupt_leaves_no_temporary_file(tmp_path, monkeypatch):
    def interrupted(_handle):
        raise KeyboardInterrupt

    replace_file(tmp_path / "x", b"old")
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_file(tmp_path / "x", b"new")
    assert contents(tmp_path) == {"x": b"old"}
