"""The summary of a sweep has a line for each finished run, with what it reached and how."""

import csv
import io
from dataclasses import replace

import pytest
from rich.console import Console

from somamba.errors import InputError
from somamba.results.record import read_records
from somamba.results.scores import ScoreRecord
from somamba.training.sweep.run_status import run_status
from somamba.training.sweep.summary import keep_summary, summarise, summary_table
from somamba.training.sweep.sweep import prepare_runs, sweep
from training.small_grid import small_grid


@pytest.fixture(scope="module")
def half(data, tmp_path_factory):
    """The runs of a grid, of which the first is finished."""
    folder = tmp_path_factory.mktemp("summary")
    runs = prepare_runs(small_grid(folder, data, minutes=0.002), folder / "out")
    sweep(runs[:1])
    return runs


def test_a_line_says_what_the_run_reached(half):
    run = half[0]
    row, done, rows = summarise(run, "somamba sweep x"), run_status(run), read_records(ScoreRecord, run.results)
    assert (row.run, row.subject.method, row.subject.seed, row.minutes) == ("full", "so_mamba", 0, 0.002)
    assert (row.steps, row.seconds) == (done.steps, done.seconds)
    assert row.slices_per_second == pytest.approx(4 * row.steps / row.seconds)
    assert row.seconds >= 0.12
    assert row.psnr == pytest.approx(sum(r.psnr for r in rows) / len(rows))
    assert (row.subject.parameters, row.cases, row.subject.weights) == (run.parameters, 2, rows[0].subject.weights)


def test_the_file_has_the_finished_runs_only(half, tmp_path):
    rows = keep_summary(tmp_path / "grid.csv", half, "somamba sweep x")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "grid.csv").read_text())))
    assert [line["run"] for line in lines] == ["full"]
    assert float(lines[0]["psnr"]) == rows[0].psnr
    assert lines[0]["command"] == "somamba sweep x"


def test_nothing_finished_writes_nothing(half, tmp_path):
    assert keep_summary(tmp_path / "grid.csv", half[1:], "x") == []
    assert not (tmp_path / "grid.csv").exists()


def test_the_table_is_for_people_and_cuts_no_number(half):
    screen = io.StringIO()
    row = summarise(half[0], "x")
    large = replace(row.subject, parameters=105_429_602)
    long = replace(row, run="content_residency_seed0_of_the_longer_sweep", subject=large, seconds=3_700.0)
    Console(file=screen, width=80).print(summary_table([row, long]))
    for words in (
        "full",
        f"{row.subject.parameters:,}",
        "105,429,602",
        "1 h 01 min",
        f"{row.psnr:.2f}",
        f"{row.ssim:.3f}",
    ):
        assert words in screen.getvalue()
    assert "…" not in screen.getvalue()


def test_a_lost_journal_is_named(half):
    journal = half[0].folder / "journal.jsonl"
    content = journal.read_bytes()
    journal.unlink()
    try:
        with pytest.raises(InputError, match=r"its journal\.jsonl is gone"):
            summarise(half[0], "x")
    finally:
        journal.write_bytes(content)
