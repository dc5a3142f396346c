"""Checks of output paths: one that cannot be written, or that holds a foreign file, is refused before any work."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from somamba.cli.arguments import path
from somamba.durable import check_writable
from somamba.errors import StorageError

MARKED = 1 << 16
"""Bytes at either end of a file among which it names somamba if we wrote it."""
KINDS = (b"\x89PNG", b"%PDF", b"<?xml", b"<!DOCTYPE html>", b"PK")
"""What the files begin with that we mark by our name; a CSV file is known by its last column instead."""


def output_folder(text: str) -> Path:
    """Read the name of a folder to write into; a place where none can be made is refused before any work."""
    folder = path(text)
    with _explained(text):
        if folder.exists() and not folder.is_dir():
            raise argparse.ArgumentTypeError(f"{text!r} is a file, and a folder is wanted.")
        check_writable(folder.parent)
    return folder


def output_file(text: str) -> Path:
    """Read the name of a file to write; a place where none can be written is refused before any work."""
    file = path(text)
    with _explained(text):
        if file.is_dir():
            raise argparse.ArgumentTypeError(f"{text!r} is a folder, and the name of a file is wanted.")
        if file.exists() and not file.is_file():
            raise argparse.ArgumentTypeError(f"{text!r} is a device or a pipe; choose the name of a file.")
        check_writable(file.parent)
    return file


def own_output_file(text: str) -> Path:
    """Read the name of a file to write; one that is there is replaced only if it says that somamba wrote it."""
    file = output_file(text)
    with _explained(text):
        if file.exists() and not _made_by_us(file):
            raise argparse.ArgumentTypeError(
                f"{text!r} is there and was not written by somamba, so it is not replaced; move it away, or choose "
                "another name."
            )
    return file


def _made_by_us(file: Path) -> bool:
    """Whether a file is of a kind that we write and says so; a script or a text that mentions somamba is not ours."""
    with file.open("rb") as content:
        size = content.seek(0, os.SEEK_END)
        content.seek(0)
        first = content.read(MARKED)
        content.seek(max(0, size - MARKED))
        last = content.read(MARKED)
    if size == 0 or first.partition(b"\n")[0].rstrip().endswith(b",command"):
        return True
    return first.startswith(KINDS) and (b"somamba" in first or b"somamba" in last)


@contextmanager
def _explained(text: str) -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise argparse.ArgumentTypeError(f"{text[:80]!r} cannot be written: {error.strerror}.") from None
