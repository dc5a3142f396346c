"""Rows of leakage: complete or refused, averaged in the paper's order, eta last."""

import subprocess
import sys
from itertools import product

import pytest

from results.made_rows import changed
from somamba.errors import InputError
from somamba.results.averages import Spread
from somamba.results.leakage import (
    EPSILON,
    LeakageRecord,
    Levels,
    by_cutoff,
    by_measurement,
    by_unit,
    comparable_leakage,
)
from somamba.results.record import nested, read_records, write_records

ROW = nested(
    LeakageRecord,
    {
        "method": "so_mamba",
        "dataset": "acdc",
        "split": "val",
        "protocol": "magnitude",
        "mask": "golden-radial",
        "mask_digest": "fedcba9876543210",
        "acceleration": 8.0,
        "realised_acceleration": 7.9,
        "case": "patient001",
        "slices": 3,
        "unit": 1,
        "units": 1,
        "cutoff": 0.25,
        "radius": "corner",
        "hleak": 0.2,
        "rleak": 0.1,
        "eta": 0.5,
        "cases": 1,
        "split_cases": 20,
        "epochs": 2.5,
        "seed": 3,
        "parameters": 1_811_352,
        "weights": "0123456789abcdef",
        "command": "somamba leakage runs/x/best --dataset acdc",
    },
)


def made(case, unit, cutoff, hleak, rleak):
    levels = Levels(hleak, rleak)
    return changed(ROW, case=case, unit=unit, cutoff=cutoff, units=2, cases=2, hleak=hleak, rleak=rleak, eta=levels.eta)


LEVELS = {("a", 1): (0.4, 0.1), ("a", 2): (0.2, 0.3), ("b", 1): (0.6, 0.0), ("b", 2): (0.4, 0.4)}
ROWS = [
    made(case, unit, cutoff, scale * hleak, scale * rleak)
    for ((case, unit), (hleak, rleak)), (cutoff, scale) in product(LEVELS.items(), ((0.25, 1.0), (0.35, 0.5)))
]


def test_units_are_averaged_within_a_case_and_cases_after_that():
    average = by_cutoff(ROWS)[0.25]
    assert average.hleak == pytest.approx(Spread(mean=(0.3 + 0.5) / 2, std=0.1))
    assert average.rleak == pytest.approx(Spread(mean=0.2, std=0.0))
    assert by_cutoff(ROWS)[0.35].hleak.mean == pytest.approx(0.2)


def test_eta_is_that_of_the_averages_and_no_average_of_its_own():
    assert by_cutoff(ROWS)[0.25].eta == pytest.approx(0.2 / 0.4)
    assert by_unit(ROWS)[0.25, 1].eta == pytest.approx(0.05 / 0.5)


def test_every_unit_has_its_own_average_over_cases():
    units = by_unit(ROWS)
    assert list(units) == [(0.25, 1), (0.35, 1), (0.25, 2), (0.35, 2)]
    assert units[0.25, 2].hleak == pytest.approx(Spread(mean=0.3, std=0.1))
    assert units[0.35, 2].rleak.mean == pytest.approx(0.175)


def test_the_papers_table_has_the_eta_of_its_averages():
    """Table 5, r = 0.25 and 0.35: every eta is RLeak / HLeak within the rounding of the three."""
    table = [
        (0.2323, 0.0229, 0.098), (0.1130, 0.1122, 0.993), (0.2137, 0.0104, 0.049), (0.2281, 0.0399, 0.175),
        (0.2582, 0.0227, 0.088), (0.1750, 0.0143, 0.082), (0.0900, 0.0824, 0.916), (0.1618, 0.0045, 0.028),
        (0.1849, 0.0273, 0.148), (0.2017, 0.0140, 0.069),
    ]  # fmt: skip
    for hleak, rleak, eta in table:
        smallest, largest = Levels(hleak + 5e-5, rleak - 5e-5).eta, Levels(hleak - 5e-5, rleak + 5e-5).eta
        assert smallest - 5e-4 <= eta <= largest + 5e-4


def test_without_energy_eta_follows_the_formula():
    assert Levels(0.0, 0.0).eta == 0.0
    assert Levels(0.0, 0.5).eta == 0.5 / EPSILON


def test_rows_survive_the_file_exactly(tmp_path):
    write_records(tmp_path / "results" / "x.csv", ROWS)
    assert read_records(LeakageRecord, tmp_path / "results" / "x.csv") == ROWS
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["x.csv"]


@pytest.mark.parametrize("rows", [ROWS[:-1], ROWS[1:], [row for row in ROWS if row.case == "a"]])
def test_a_missing_row_is_refused(tmp_path, rows):
    with pytest.raises(InputError, match="measure it again"):
        write_records(tmp_path / "x.csv", rows)
    assert not list(tmp_path.iterdir())


def test_a_missing_cutoff_is_noticed_where_another_case_has_it():
    with pytest.raises(InputError, match="7 rows, not one for each of 2 cases, 2 units and 2 cutoffs"):
        by_measurement(ROWS[:-1])


def test_a_double_row_is_refused():
    with pytest.raises(InputError, match="more than one row"):
        by_measurement([*ROWS, ROWS[0]])


def test_a_file_that_lost_a_line_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    write_records(path, ROWS)
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(InputError, match="measure it again"):
        read_records(LeakageRecord, path)


def test_no_rows_make_no_file(tmp_path):
    with pytest.raises(InputError, match="no rows to write"):
        write_records(tmp_path / "x.csv", [])


@pytest.mark.parametrize(
    "wrong",
    [{"hleak": 1.5}, {"rleak": -0.1}, {"hleak": float("nan")}, {"eta": float("inf")}, {"case": "a\nb"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_is_no_leakage_is_refused(wrong):
    with pytest.raises(InputError):
        changed(ROW, **wrong)


def test_rows_are_read_without_torch():
    code = "import sys; import somamba.results.leakage; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_networks_measured_alike_are_compared():
    other = [changed(row, method="without_outlet") for row in ROWS]
    groups, cutoffs = comparable_leakage([*ROWS, *other])
    assert [key.evaluation.subject.method for key in groups] == ["so_mamba", "without_outlet"]
    assert cutoffs == [0.25, 0.35]
    for changes in ({"acceleration": 4.0}, {"radius": "side"}, {"mask": "random"}):
        with pytest.raises(InputError, match=f"differ in {next(iter(changes))}"):
            comparable_leakage([*ROWS, *(changed(row, **changes) for row in other)])
    with pytest.raises(InputError, match="the mask of a"):
        comparable_leakage([*ROWS, *(changed(row, mask_digest="0" * 16) for row in other)])
    with pytest.raises(InputError, match=r"cases \(a, ax, b, ... in one of them only\)"):
        comparable_leakage([*ROWS, *(changed(row, case=row.case + "x") for row in other)])
    with pytest.raises(InputError, match="differ in cutoffs"):
        comparable_leakage([*ROWS, *(row for row in other if row.cutoff == 0.25)])
    with pytest.raises(InputError, match="no rows"):
        comparable_leakage([])
