"""A journal is read whatever a kill, a power cut or another program left in it."""

import os

import pytest

from somamba.errors import InputError
from somamba.results.journal import read_journal


def test_spoiled_and_odd_lines_are_left_out(tmp_path):
    path = tmp_path / "journal.jsonl"
    good = b'{"event": "step", "step": 1, "loss": 0.5}'
    odd = [b"", b"{", b"[]", b"3", b"null", b'"step"', b"\xff", b'{"step": 1}', b'{"event": "step"}', b"[" * 100_000]
    odd += [b'{"event": "step", "step": "one"}', b'{"event": 3, "step": 1}', b'{"event": "step", "step": null}']
    path.write_bytes(b"\n".join([good, *odd, good]))
    assert read_journal(path) == [{"event": "step", "step": 1, "loss": 0.5}] * 2


def test_no_file_has_no_events_and_a_pipe_is_refused(tmp_path):
    assert read_journal(tmp_path / "absent") == []
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="named pipe"):
        read_journal(tmp_path / "pipe")
