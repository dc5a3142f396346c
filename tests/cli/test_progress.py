"""Lines where there is no terminal, silence from those who do not lead."""

import sys
import time

import pytest
from rich.console import Console

from somamba.cli import progress
from somamba.cli.progress import told_progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_now_and_then_where_there_is_no_terminal(clock, capsys):
    with told_progress("slices", every=30.0) as tell:
        for done in range(1, 101):
            clock[0] += 10
            tell(done, 100)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 33
    assert lines[0] == "3 of 100 slices, 16 minutes left"
    assert lines[-1] == "99 of 100 slices"


def test_what_is_over_soon_is_told_nothing_of(clock, capsys):
    with told_progress("slices") as tell:
        clock[0] = 29.0
        tell(1, 2)
        clock[0] = 59.0
        tell(2, 2)
    assert capsys.readouterr().err == ""


def test_only_the_leader_speaks(clock, capsys):
    with told_progress("slices", leads=False) as tell:
        clock[0] = 1000.0
        tell(1, 2)
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(progress, "make_console", lambda **_: Console(file=sys.stderr, force_terminal=True, width=80))
    with told_progress("slices") as tell:
        tell(1, 4)
        time.sleep(0.2)
    assert "slices" in capsys.readouterr().err
