"""Nested records are flat in files: every field has one column, and the columns are those of committed files."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from results.made_costs import cost_row
from results.made_leakage import leakage_rows
from results.made_rows import changed, rows
from results.made_sweep import sweep_row
from somamba.errors import InputError
from somamba.results.gallery import MeasurementFacts, MethodFacts
from somamba.results.record import columns, flat, leaves, nested, value_of
from somamba.results.streams import StreamFacts

RESULTS = Path(__file__).parents[2] / "results"
FILES = {
    "zero_filled_acdc_x4_val.csv": rows("unet", "acdc", 4)[0],
    "leakage/so_mamba.csv": leakage_rows()[0],
    "cost/320.csv": cost_row("unet"),
    "acdc_cpu_x4_methods/acdc_cpu_x4_methods.csv": sweep_row("unet"),
}


@pytest.mark.parametrize("path", FILES)
def test_columns_are_those_of_committed_files(path):
    with (RESULTS / path).open(encoding="utf-8") as file:
        assert list(columns(type(FILES[path]))) == file.readline().rstrip("\n").split(",")


@pytest.mark.parametrize("kind", [*map(type, FILES.values()), MeasurementFacts, MethodFacts, StreamFacts])
def test_every_field_has_one_column(kind):
    assert sorted(columns(kind).values()) == sorted(leaves(kind))


@pytest.mark.parametrize("record", FILES.values())
def test_flat_and_nested_undo_each_other(record):
    assert nested(type(record), flat(record)) == record


def test_values_are_found_wherever_they_are_nested():
    record = changed(sweep_row("unet"), seed=7)
    assert value_of(record, "seed") == record.subject.seed == flat(record)["seed"] == 7
    assert value_of(record, "method") == flat(record)["model"] == "unet"


def test_two_fields_of_one_name_are_refused():
    @dataclass(frozen=True)
    class Inner:
        a: int

    @dataclass(frozen=True)
    class Outer:
        a: int
        inner: Inner

    with pytest.raises(TypeError, match="two fields named a"):
        leaves(Outer)


@pytest.mark.parametrize(("field", "value"), [("psnr", 1e31), ("psnr", -1e300), ("slices", 2**63)])
def test_numbers_that_are_no_measurement_are_refused(field, value):
    with pytest.raises(InputError, match=f"{field} is too large to be a measurement"):
        changed(rows("unet", "acdc", 4)[0], **{field: value})
