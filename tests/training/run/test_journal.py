"""The journal has every event once, also after a kill."""

import json

import pytest

from somamba.errors import StorageError
from somamba.training.run.journal import Journal, read_journal


def test_events_are_on_disk_as_soon_as_they_are_written(tmp_path):
    told = []
    with Journal(tmp_path / "run" / "j.jsonl", told.append) as journal:
        journal.write("step", step=1, loss=0.5)
        assert json.loads((tmp_path / "run" / "j.jsonl").read_text())["loss"] == 0.5
    assert told == read_journal(tmp_path / "run" / "j.jsonl")


def test_resuming_forgets_what_will_happen_again(tmp_path):
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        for step in (1, 2, 3):
            journal.write("step", step=step)
    with path.open("ab") as file:
        file.write(b'\x00\x00\n{"event": "step", "st')  # What a power cut and a kill leave.
    with Journal(path, keep=lambda event: event["step"] <= 2) as journal:
        journal.write("step", step=3, again=True)
    assert [(event["step"], "again" in event) for event in read_journal(path)] == [(1, False), (2, False), (3, True)]


def test_a_new_run_starts_an_empty_journal(tmp_path):
    path = tmp_path / "j.jsonl"
    for _ in range(2):
        with Journal(path) as journal:
            journal.write("start", step=0)
    assert len(read_journal(path)) == 1


def test_without_a_path_events_are_only_told(tmp_path):
    told = []
    with Journal(None, told.append) as journal:
        journal.write("start", step=0)
    assert told[0]["event"] == "start"
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_of_ours():
    with Journal(None) as journal:
        journal._file = open("/dev/full", "ab", buffering=0)  # noqa: SIM115, PTH123 - closed by the journal
        with pytest.raises(StorageError, match="No space left"):
            journal.write("step", step=1)
