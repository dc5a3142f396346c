"""What is committed under results/ can be read again, and every number says which command made it."""

import csv
import re
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
    assert {line[0].text for line in score_table(rows).lines} == {
        "Zero-Filling",
        "SO-Mamba",
        "SO-Mamba, adaptive",
        "w/ content residency",
    }


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


CARD = ROOT / "src" / "somamba" / "bundled_weights" / "brain_raw" / "README.md"
EDITIONS = {CARD: "brain_raw_2_{scan}", ROOT / "weights" / "brain_raw_1" / "README.md": "brain_13coil_{scan}"}
"""The cards of networks for real scans, and the files under results/real_scans that their rows come from."""
NETWORKS = {
    "SO-Mamba, the network alone (`--no-refinement`)": "so_mamba network",
    "SO-Mamba, as `somamba reconstruct` comes": "so_mamba",
    "SO-Mamba, `--adapt auto`": "so_mamba adapted",
}
"""Rows of the cards, and what the files call them."""


def measured(file):
    """PSNR / SSIM as the documents write them, by method and mask; of a method that is tuned, one of its rows."""
    with (ROOT / "results" / "real_scans" / f"{file}.csv").open(newline="", encoding="utf-8") as rows:
        return {
            (row["method"], f"x{float(row['acceleration']):g}, {row['calibration']} lines"): (
                f"{float(row['psnr']):.2f} / {float(row['ssim']):.3f}"
            )
            for row in csv.DictReader(rows)
        }


def cells(line):
    """The cells of a line of a table, without bold."""
    return [cell.strip() for cell in line.replace("**", "").strip().strip("|").split("|")]


@pytest.mark.parametrize("path", EDITIONS, ids=name)
def test_a_card_has_the_rows_of_the_real_scans(path):
    checked, masks, found = [], [], {}
    for line in path.read_text(encoding="utf-8").splitlines():
        first, *others = cells(line)
        if scan := re.fullmatch(r"flip angle (\d)", first):
            masks, found = others, measured(EDITIONS[path].format(scan=f"flip{scan[1]}"))
        elif first in NETWORKS and masks:
            assert others == [found[NETWORKS[first], mask] for mask in masks], line
            checked.append(first)
    assert checked == [*NETWORKS] * 2


def test_other_pages_have_the_rows_of_the_bundled_network_too():
    """The table of editions in docs/results.md names the flip angle where it changes."""
    found, checked = {}, 0
    for line in (ROOT / "docs" / "results.md").read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"(?:flip angle (\d): )?(x\d, \d+ lines)", cells(line)[0])
        if match and len(cells(line)) == 3:
            if match[1]:
                found = {path: measured(file.format(scan=f"flip{match[1]}")) for path, file in EDITIONS.items()}
            second, first = (found[path]["so_mamba", match[2]] for path in EDITIONS)
            assert cells(line)[1:] == [first, second], line
            checked += 1
    assert checked == 10
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("A real 13-coil head scan")[1]
    told = re.findall(r"(\d\d\.\d\d) dB / (0\.\d{3})", text)[:2]
    rows = measured(EDITIONS[CARD].format(scan="flip4"))
    assert [" / ".join(pair) for pair in told] == [
        rows[one, "x4, 18 lines"] for one in ("so_mamba", "so_mamba adapted")
    ]


FIRST, BUNDLED = "weights/brain_raw_1", "brain_raw"
WEIGHTS = {
    "real_scans/brain_13coil_flip4.csv": FIRST,
    "real_scans/brain_13coil_flip7.csv": FIRST,
    "real_scans/brain_raw_2_flip4.csv": BUNDLED,
    "real_scans/brain_raw_2_flip7.csv": BUNDLED,
    "strengths/brain_raw.csv": FIRST,
}
"""What the commands of a file say for the weights: an edition that is no longer bundled is named by its folder."""


def test_rows_of_a_network_for_real_scans_name_the_edition_that_made_them():
    named = {}
    for path in FILES:
        if path.parent.name in ("real_scans", "strengths"):
            with path.open(newline="", encoding="utf-8") as file:
                commands = {row["command"] for row in csv.DictReader(file)}
            found = {weights for command in commands for weights in re.findall(r"--weights (\S+)", command)}
            # Classical methods have no weights.
            if not path.stem.startswith("classical"):
                named[f"{path.parent.name}/{path.name}"] = found
    assert named == {file: {weights} for file, weights in WEIGHTS.items()}
    assert (ROOT / FIRST).is_dir()
