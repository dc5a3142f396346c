"""A journal is read whatever a kill, a power cut or another program left in it."""

import os

import pytest

from somamba.errors import InputError
from somamba.results.journal import LONGEST_LINE, MOST_EVENTS, JournalTail, read_journal


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


def test_numbers_that_are_no_steps_and_endless_lines_are_left_out(tmp_path):
    path = tmp_path / "journal.jsonl"
    odd = [b'{"event": "step", "step": %s}' % step for step in (b"true", b"-1", b"1.5", b"9" * 400, b"9" * 30)]
    path.write_bytes(b"\n".join([*odd, b'{"event": "step", "step": 1, "x": "' + b"x" * LONGEST_LINE + b'"}']))
    assert read_journal(path) == []


def test_a_journal_of_more_lines_than_steps_can_be_is_refused(tmp_path):
    (tmp_path / "journal.jsonl").write_bytes(b"\n" * (MOST_EVENTS + 1))
    with pytest.raises(InputError, match="which is no journal of a training"):
        read_journal(tmp_path / "journal.jsonl")


def test_a_tail_reads_every_event_once_and_notices_a_resume(tmp_path):
    path = tmp_path / "journal.jsonl"
    tail = JournalTail(path)
    assert tail.new() == (False, [])
    one, two, three = (b'{"event": "step", "step": %d}\n' % number for number in (1, 2, 3))
    path.write_bytes(one + two[:7])
    anew, events = tail.new()
    assert (anew, [event["step"] for event in events]) == (True, [1])
    path.write_bytes(one + two)
    assert tail.new() == (False, [{"event": "step", "step": 2}])
    assert tail.new() == (False, [])
    (tmp_path / "other").write_bytes(one + three)
    (tmp_path / "other").replace(path)
    anew, events = tail.new()
    assert (anew, [event["step"] for event in events]) == (True, [1, 3])
