"""A file of results is complete and exact, or refused."""

import csv
import subprocess
import sys

import pytest

from results.made_rows import changed
from somamba.errors import InputError
from somamba.results.averages import spread
from somamba.results.leakage import LeakageRecord
from somamba.results.record import columns, holds, nested, read_records, write_records
from somamba.results.scores import ScoreRecord, by_evaluation, check_cases

ROW = nested(
    ScoreRecord,
    {
        "method": "so_mamba",
        "dataset": "acdc",
        "split": "test",
        "protocol": "magnitude",
        "mask": "radial",
        "mask_digest": "0123456789abcdef",
        "acceleration": 4.0,
        "realised_acceleration": 4.0650406504065035,
        "case": "patient101",
        "slices": 20,
        "slices_left_out": 1,
        "psnr": 33.180000000000003,
        "ssim": 0.1 + 0.2,
        "nmse": 1e-17,
        "cases": 1,
        "split_cases": 50,
        "epochs": 2.5,
        "seed": -1,
        "parameters": 1_811_000,
        "weights": "",
        "command": "somamba evaluate runs/x/best --dataset acdc",
    },
)
PAIR = [changed(ROW, cases=2), changed(ROW, cases=2, case="patient102", psnr=-3.0)]


def test_rows_survive_the_file_exactly(tmp_path):
    write_records(tmp_path / "results" / "x.csv", PAIR)
    assert read_records(ScoreRecord, tmp_path / "results" / "x.csv") == PAIR
    assert [p.name for p in (tmp_path / "results").iterdir()] == ["x.csv"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "''", 'say "x"', "a,b", "patient Ü", ""])
def test_no_text_becomes_a_formula_and_every_text_comes_back(tmp_path, text):
    write_records(tmp_path / "x.csv", [changed(ROW, case=text)])
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        cell = next(csv.DictReader(file))["case"]
    assert not cell.startswith(("=", "+", "-", "@"))
    assert read_records(ScoreRecord, tmp_path / "x.csv")[0].case == text


@pytest.mark.parametrize("text", ["a\nb", "\t=1", "\r=1", "a\0", "\x1b[2J"])
def test_names_that_would_break_a_table_are_refused(text):
    with pytest.raises(InputError, match="cannot be printed"):
        changed(ROW, case=text)


@pytest.mark.parametrize("name", ["psnr", "ssim", "nmse", "realised_acceleration"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_row_that_is_not_finite_is_refused(name, value):
    with pytest.raises(InputError, match=f"patient101.*{name}"):
        changed(ROW, **{name: value})


def test_a_case_without_slices_is_refused():
    with pytest.raises(InputError, match="no slice"):
        changed(ROW, slices=0)


def spoil(tmp_path, change):
    write_records(tmp_path / "x.csv", PAIR)
    text = (tmp_path / "x.csv").read_text(encoding="utf-8")
    (tmp_path / "x.csv").write_text(change(text), encoding="utf-8")
    return tmp_path / "x.csv"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda t: t[: t.rindex("so_mamba")], "1 rows of an evaluation of 2 cases"),
        (lambda t: t + t.splitlines()[-1] + "\n", "'patient102' has more than one row"),
        (lambda t: t.replace("-3.0", "nan"), "line 3.*psnr is nan"),
        (lambda t: t.replace("-3.0", "inf"), "line 3.*psnr is inf"),
        (lambda t: t.replace("-3.0", "good"), "line 3.*good"),
        (lambda t: t[: t.rindex(",")], "line 3"),
        (lambda t: t.replace("psnr,ssim", "ssim,psnr", 1), "first line must be"),
        (lambda t: t.splitlines()[0] + "\n", "no case"),
        (lambda t: t[:0], "it is .nothing"),
    ],
)
def test_a_spoiled_file_is_refused(tmp_path, change, complaint):
    path = spoil(tmp_path, change)
    with pytest.raises(InputError, match=complaint):
        read_records(ScoreRecord, path)


def test_a_binary_or_absent_file_is_refused(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("x.csv", "absent.csv"):
        with pytest.raises(InputError, match="cannot be read"):
            read_records(ScoreRecord, tmp_path / name)


def test_a_write_that_is_refused_leaves_the_old_file(tmp_path):
    write_records(tmp_path / "x.csv", PAIR)
    before = (tmp_path / "x.csv").read_bytes()
    for rows in ([], PAIR[:1], [*PAIR, PAIR[0]]):
        with pytest.raises(InputError):
            write_records(tmp_path / "x.csv", rows)
    assert (tmp_path / "x.csv").read_bytes() == before


def test_evaluations_are_told_apart():
    groups = by_evaluation([*PAIR, changed(ROW, acceleration=8.0), changed(ROW, seed=1)])
    assert [len(group) for group in groups.values()] == [2, 1, 1]


@pytest.mark.parametrize(
    ("found", "complaint"),
    [(["a", "b", "b"], "more than once: b"), (["a"], "missing: b"), (["a", "b", "c"], "not of this evaluation: c")],
)
def test_results_must_be_one_for_each_case(found, complaint):
    with pytest.raises(InputError, match=complaint):
        check_cases(found, ["a", "b"])


def test_spread_is_mean_and_population_deviation():
    assert spread([1.0, 2.0, 3.0, 6.0]) == (3.0, pytest.approx(3.5**0.5))
    assert spread([2.0]) == (2.0, 0.0)


def test_rows_and_tables_need_no_torch():
    code = "import sys, somamba.results.scores, somamba.report.render; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_first_line_tells_what_a_file_holds(tmp_path):
    (tmp_path / "a.csv").write_text(",".join(columns(ScoreRecord)) + "\n")
    assert holds(tmp_path / "a.csv", ScoreRecord)
    assert not holds(tmp_path / "a.csv", LeakageRecord)
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe")
    assert not holds(tmp_path / "a.csv", ScoreRecord)
    assert not holds(tmp_path / "none.csv", ScoreRecord)
