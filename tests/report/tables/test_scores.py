"""A table shows what the rows say, and compares only what can be compared."""

import pytest

from report.shown import names, texts, titles
from results.made_rows import changed, rows
from somamba.errors import InputError
from somamba.report.tables.scores import score_table


def test_a_cell_is_the_mean_and_deviation_over_cases():
    table = score_table(rows("so_mamba", "acdc", 4, psnr=[30.0, 34.0], ssim=[0.8, 0.9]))
    assert titles(table) == ["Method", "ACDC PSNR ↑ ×4", "ACDC SSIM ↑ ×4"]
    _, psnr, ssim = table.lines[0]
    assert (psnr.text, psnr.spread, psnr.value) == ("32.00", "2.00", 32.0)
    assert (ssim.text, ssim.spread) == ("0.850", "0.050")


def test_a_mean_is_that_of_cases_however_many_slices_they_have():
    long, short = rows("so_mamba", "acdc", 4, psnr=[20.0, 40.0], ssim=[0.5, 0.9])
    table = score_table([changed(long, slices=19), changed(short, slices=1)])
    assert texts(table.lines[0]) == ["SO-Mamba", "30.00", "0.700"]  # by slices: 21.00 and 0.520
    assert table.lines[0][1].spread == "10.00"


def test_methods_and_datasets_stand_in_the_papers_order():
    table = score_table(
        [r for d in ("acdc", "cc359", "fastmri") for m in ("so_mamba", "mine", "unet") for r in rows(m, d, 4)]
    )
    assert names(table) == ["UNet", "SO-Mamba", "mine"]
    assert [title.split()[0] for title in titles(table)[1:]] == ["fastMRI"] * 2 + ["CC359"] * 2 + ["ACDC"] * 2


def test_the_best_of_each_column_is_marked_as_printed():
    entries = {"unet": 31.001, "lmo": 31.002, "so_mamba": 30.0}
    table = score_table(
        [r for m, v in entries.items() for r in rows(m, "acdc", 4, psnr=[v], nmse=[v])], metrics=["psnr", "nmse"]
    )
    best = {line[0].text: [cell.best for cell in line[1:]] for line in table.lines}
    assert best == {"UNet": [True, False], "LMO": [True, False], "SO-Mamba": [False, True]}


def test_a_method_alone_is_not_the_best():
    assert not score_table(rows("so_mamba", "acdc", 4)).lines[0][1].best


def test_what_was_not_measured_is_empty():
    table = score_table(rows("so_mamba", "acdc", 4) + rows("unet", "acdc", 8))
    unet, so_mamba = table.lines
    assert [cell is None for cell in unet[1:]] == [True, False, True, False]
    assert [cell is None for cell in so_mamba[1:]] == [False, True, False, True]


def test_blocks_put_accelerations_one_below_the_other():
    table = score_table(
        rows("so_mamba", "acdc", 4, psnr=[33.0]) + rows("so_mamba", "acdc", 8, psnr=[27.0]), layout="blocks"
    )
    assert [texts(line)[:3] for line in table.lines] == [["×4", "SO-Mamba", "33.00"], ["×8", "SO-Mamba", "27.00"]]
    assert titles(table) == ["AF", "Method", "ACDC PSNR ↑", "ACDC SSIM ↑"]


def test_a_part_of_the_split_is_marked():
    assert score_table(rows("unet", "acdc", 4, split_cases=50)).lines[0][1].partial
    assert not score_table(rows("unet", "acdc", 4)).lines[0][1].partial


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"split": "validation"}, "differ in split"),
        ({"protocol": "raw"}, "differ in protocol"),
        ({"mask_digest": "feed"}, "differ in the mask of case0"),
        ({"case": "someone"}, r"differ in cases \(case0, someone in one of them only\)"),
    ],
)
def test_methods_measured_differently_share_no_column(change, complaint):
    other = [changed(row, **change) for row in rows("unet", "acdc", 4, psnr=[30.0])]
    with pytest.raises(InputError, match=complaint):
        score_table(rows("so_mamba", "acdc", 4, psnr=[30.0]) + other)


def test_two_evaluations_of_one_cell_are_refused():
    first = rows("so_mamba", "acdc", 4)
    with pytest.raises(InputError, match="different in epochs"):
        score_table(first + [changed(row, epochs=7.0) for row in first])
    with pytest.raises(InputError, match="more than one row"):
        score_table(first + first)


def test_seeds_of_one_method_have_lines_of_their_own():
    first = rows("so_mamba", "acdc", 4)
    twice = first + [changed(row, seed=1) for row in first]
    table = score_table(rows("content_residency", "acdc", 4) + twice, layout="ownership")
    assert names(table) == ["w/ content residency", "SO-Mamba, seed 0", "SO-Mamba, seed 1"]
    assert table.lines[1][1:5] == table.lines[2][1:5]


@pytest.mark.parametrize("wrong", [{"layout": "pie"}, {"metrics": ["beauty"]}])
def test_unknown_layouts_and_metrics_are_named(wrong):
    with pytest.raises(InputError, match=r"pie|beauty"):
        score_table(rows("so_mamba", "acdc", 4), **wrong)


def test_no_rows_make_no_table():
    with pytest.raises(InputError, match="no rows"):
        score_table([])


def test_the_ownership_layout_ticks_the_routes_of_each_variant_in_the_papers_order():
    given = ["so_mamba", "content_residency", "sor_router", "mamba_regularizer", "without_outlet", "without_access"]
    table = score_table([row for name in given for row in rows(name, "acdc", 4)], layout="ownership")
    assert titles(table) == ["Method", "SOR", "G→u", "Access", "Outlet", "ACDC PSNR ↑ ×4", "ACDC SSIM ↑ ×4"]
    assert {line[0].text: "".join("-x"[int(mark.value)] for mark in line[1:5]) for line in table.lines} == {
        "Mamba regularizer": "----",
        "+ SOR router": "x---",
        "w/o state access": "x--x",
        "w/o output outlet": "x-x-",
        "w/ content residency": "xxxx",
        "SO-Mamba": "x-xx",
    }
    assert names(table)[-2:] == ["w/ content residency", "SO-Mamba"]


def test_other_methods_have_no_routes_to_tick():
    with pytest.raises(InputError, match="unet is no variant of SO-Mamba"):
        score_table(rows("so_mamba", "acdc", 4) + rows("unet", "acdc", 4), layout="ownership")
