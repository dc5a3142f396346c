"""What cannot be written, and what somamba did not write, is refused before any work."""

import argparse
import os

import pytest

from somamba.cli.places import output_file, output_folder, own_output_file


def test_places_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "file").write_text("foreign")
    (tmp_path / "ours.csv").write_text("method,command\nunet,somamba evaluate\n")
    for kind in (output_file, own_output_file, output_folder):
        for name in ("file/below", "n" * 300):
            with pytest.raises(argparse.ArgumentTypeError, match="cannot be written"):
                kind(str(tmp_path / name))
        assert kind(str(tmp_path / "new" / "name")) == tmp_path / "new" / "name"
        with pytest.raises(argparse.ArgumentTypeError, match="is not the name"):
            kind("")
    for kind in (output_file, own_output_file):
        with pytest.raises(argparse.ArgumentTypeError, match="is a folder"):
            kind(str(tmp_path))
        with pytest.raises(argparse.ArgumentTypeError, match="is a device or a pipe"):
            kind(os.devnull)
    with pytest.raises(argparse.ArgumentTypeError, match="is a file, and a folder is wanted"):
        output_folder(str(tmp_path / "file"))
    with pytest.raises(argparse.ArgumentTypeError, match="was not written by somamba"):
        own_output_file(str(tmp_path / "file"))
    assert own_output_file(str(tmp_path / "ours.csv")) == tmp_path / "ours.csv"
