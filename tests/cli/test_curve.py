"""somamba curve draws what the journal of a run holds."""

import json

import pytest

from somamba.cli.main import main

pytest.importorskip("matplotlib")


def test_the_curve_of_a_run_is_drawn(tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    lines = [{"event": "step", "step": i, "loss": 0.1} for i in (1, 2)]
    (run / "journal.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert main(["curve", str(run), "-o", str(tmp_path / "c.png")]) == 0
    assert (tmp_path / "c.png").stat().st_size > 1000
    assert "c.png" in capsys.readouterr().out


def test_a_folder_without_journal_is_refused(tmp_path, capsys):
    assert main(["curve", str(tmp_path), "-o", str(tmp_path / "c.png")]) == 2
    assert "holds no journal.jsonl" in capsys.readouterr().err
