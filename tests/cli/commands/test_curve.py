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


def test_runs_of_one_name_are_all_drawn(tmp_path):
    line = json.dumps({"event": "step", "step": 1, "loss": 0.1})
    runs = [tmp_path / sweep / "so_mamba" for sweep in ("one", "two")]
    for run in runs:
        run.mkdir(parents=True)
        (run / "journal.jsonl").write_text(line)
    assert main(["curve", *map(str, runs), "-o", str(tmp_path / "c.svg")]) == 0
    text = (tmp_path / "c.svg").read_text()
    assert "one/so_mamba" in text
    assert "two/so_mamba" in text
    assert main(["curve", str(runs[0]), str(runs[0])]) == 2
