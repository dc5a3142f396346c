"""A table shows what the rows say, and compares only what can be compared."""

from dataclasses import replace

import pytest

from report.made_rows import rows
from somamba.errors import InputError
from somamba.report.tables import build_table


def test_a_cell_is_the_mean_and_deviation_over_cases():
    table = build_table(rows("so_mamba", "acdc", 4, psnr=[30.0, 34.0], ssim=[0.8, 0.9]))
    assert [(c.dataset, c.metric, c.acceleration) for c in table.columns] == [("acdc", "psnr", 4), ("acdc", "ssim", 4)]
    psnr, ssim = table.lines[0].cells
    assert (psnr.mean, psnr.std) == ("32.00", "2.00")
    assert (ssim.mean, ssim.std) == ("0.850", "0.050")


def test_methods_and_datasets_stand_in_the_papers_order():
    table = build_table(
        [r for d in ("acdc", "cc359", "fastmri") for m in ("so_mamba", "mine", "unet") for r in rows(m, d, 4)]
    )
    assert [line.method for line in table.lines] == ["UNet", "SO-Mamba", "mine"]
    assert [column.dataset for column in table.columns] == ["fastmri"] * 2 + ["cc359"] * 2 + ["acdc"] * 2


def test_the_best_of_each_column_is_marked_as_printed():
    entries = {"unet": 31.001, "lmo": 31.002, "so_mamba": 30.0}
    table = build_table(
        [r for m, v in entries.items() for r in rows(m, "acdc", 4, psnr=[v], nmse=[v])], metrics=["psnr", "nmse"]
    )
    best = {line.method: [cell.best for cell in line.cells] for line in table.lines}
    assert best == {"UNet": [True, False], "LMO": [True, False], "SO-Mamba": [False, True]}


def test_a_method_alone_is_not_the_best():
    assert not build_table(rows("so_mamba", "acdc", 4)).lines[0].cells[0].best


def test_what_was_not_measured_is_empty():
    table = build_table(rows("so_mamba", "acdc", 4) + rows("unet", "acdc", 8))
    unet, so_mamba = table.lines
    assert [cell is None for cell in unet.cells] == [True, False, True, False]
    assert [cell is None for cell in so_mamba.cells] == [False, True, False, True]


def test_blocks_put_accelerations_one_below_the_other():
    table = build_table(
        rows("so_mamba", "acdc", 4, psnr=[33.0]) + rows("so_mamba", "acdc", 8, psnr=[27.0]), layout="blocks"
    )
    assert [(line.acceleration, line.cells[0].mean) for line in table.lines] == [(4, "33.00"), (8, "27.00")]
    assert len(table.columns) == 2


def test_a_part_of_the_split_is_marked():
    assert build_table(rows("unet", "acdc", 4, split_cases=50)).lines[0].cells[0].partial
    assert not build_table(rows("unet", "acdc", 4)).lines[0].cells[0].partial


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"split": "validation"}, "differ in split"),
        ({"protocol": "raw"}, "differ in protocol"),
        ({"mask_digest": "feed"}, "differ in mask_digest"),
        ({"case": "someone"}, "differ in case"),
    ],
)
def test_methods_measured_differently_share_no_column(change, complaint):
    other = [replace(row, **change) for row in rows("unet", "acdc", 4, psnr=[30.0])]
    with pytest.raises(InputError, match=complaint):
        build_table(rows("so_mamba", "acdc", 4, psnr=[30.0]) + other)


def test_two_evaluations_of_one_cell_are_refused():
    first = rows("so_mamba", "acdc", 4)
    with pytest.raises(InputError, match="different in epochs"):
        build_table(first + [replace(row, epochs=7.0) for row in first])
    with pytest.raises(InputError, match="more than one row"):
        build_table(first + first)


def test_seeds_of_one_method_have_lines_of_their_own():
    first = rows("so_mamba", "acdc", 4)
    twice = first + [replace(row, seed=1) for row in first]
    table = build_table(rows("content_residency", "acdc", 4) + twice, layout="ownership")
    assert [line.method for line in table.lines] == ["w/ content residency", "SO-Mamba, seed 0", "SO-Mamba, seed 1"]
    assert table.lines[1].marks == table.lines[2].marks


@pytest.mark.parametrize("wrong", [{"layout": "pie"}, {"metrics": ["beauty"]}])
def test_unknown_layouts_and_metrics_are_named(wrong):
    with pytest.raises(InputError, match=r"pie|beauty"):
        build_table(rows("so_mamba", "acdc", 4), **wrong)


def test_no_rows_make_no_table():
    with pytest.raises(InputError, match="no rows"):
        build_table([])


def test_the_ownership_layout_ticks_the_routes_of_each_variant_in_the_papers_order():
    names = ["so_mamba", "content_residency", "sor_router", "mamba_regularizer", "without_outlet", "without_access"]
    table = build_table([row for name in names for row in rows(name, "acdc", 4)], layout="ownership")
    assert table.marks == ("SOR", "G→u", "Access", "Outlet")
    assert {line.method: "".join("-x"[mark] for mark in line.marks) for line in table.lines} == {
        "Mamba regularizer": "----",
        "+ SOR router": "x---",
        "w/o state access": "x--x",
        "w/o output outlet": "x-x-",
        "w/ content residency": "xxxx",
        "SO-Mamba": "x-xx",
    }
    assert [line.method for line in table.lines][-2:] == ["w/ content residency", "SO-Mamba"]
    assert [(column.metric, column.acceleration) for column in table.columns] == [("psnr", 4), ("ssim", 4)]


def test_other_methods_have_no_routes_to_tick():
    with pytest.raises(InputError, match="unet is no variant of SO-Mamba"):
        build_table(rows("so_mamba", "acdc", 4) + rows("unet", "acdc", 4), layout="ownership")
