"""What is committed under results/ can be read again, and every number says which command made it."""

import csv
from pathlib import Path

import pytest

from somamba.report.report import build_report
from somamba.report.sources import gather
from somamba.report.tables.scores import score_table
from somamba.results.leakage import LeakageRecord
from somamba.results.record import read_records
from somamba.results.scores import ScoreRecord

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "results").rglob("*.csv"))
SWEEPS = sorted({path.parents[1] for path in (ROOT / "results").rglob("journal.jsonl")})


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_row_names_its_command_and_no_place_of_a_machine(path):
    with path.open(newline="", encoding="utf-8") as file:
        commands = {row["command"] for row in csv.DictReader(file)}
    assert commands
    for command in commands:
        assert command.startswith(("somamba ", "python benchmarks/"))
        assert not any(word.startswith(("/", "~")) for word in command.split())


def test_the_files_at_the_top_share_a_table():
    rows = read_records(ScoreRecord, *(ROOT / "results").glob("*.csv"))
    assert {line[0].text for line in score_table(rows).lines} == {"Zero-Filling", "SO-Mamba", "SO-Mamba, adaptive"}


@pytest.mark.parametrize("folder", SWEEPS, ids=name)
def test_a_sweep_makes_a_page_with_all_its_runs(folder):
    sources = gather([folder])
    runs = {path.parent.name for path in folder.rglob("journal.jsonl")}
    assert {run.name for run in sources.runs} == runs
    assert {row.run for row in sources.sweep} == runs
    assert "Learning curves" in build_report(sources)


def test_leakage_was_measured_on_weights_that_were_scored():
    scored = {
        row.subject.weights
        for folder in SWEEPS
        for path in folder.rglob("val.csv")
        for row in read_records(ScoreRecord, path)
    }
    leaked = {
        row.subject.weights
        for path in (ROOT / "results" / "leakage").glob("*.csv")
        for row in read_records(LeakageRecord, path)
    }
    assert leaked
    assert leaked <= scored
