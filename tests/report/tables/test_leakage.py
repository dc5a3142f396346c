"""The paper's Table 5 from rows: its order, its columns, and PSNR only of the same weights."""

import pytest

from report.shown import names, texts
from results.made_leakage import leakage_rows
from results.made_rows import changed, rows
from somamba.errors import InputError
from somamba.models.so_mamba.variants import VARIANTS
from somamba.report.render.latex import latex
from somamba.report.render.markdown import markdown
from somamba.report.tables.leakage import ORDER, leakage_overview, leakage_table
from somamba.results.leakage import by_measurement

ALL = [
    *leakage_rows("tied_interfaces"),
    *leakage_rows("without_outlet", scale=0.5),
    *leakage_rows("so_mamba", split_cases=2),
]


def test_variants_stand_in_the_papers_order_under_its_headings():
    lines = markdown(leakage_table(ALL)).splitlines()
    assert lines[0].startswith("| Variant | Access | Outlet | HLeak, r = 0.25 | RLeak, r = 0.25 | η, r = 0.25 | Rel.,")
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:7]] == [
        "*Ownership-route ablations*",
        "SO-Mamba",
        "w/o output outlet †",
        "*Parameter-tying sanity checks*",
        "tied B/C †",
    ]


def test_every_variant_has_a_place():
    assert set(ORDER) == set(VARIANTS)


def test_numbers_are_means_and_eta_is_that_of_the_means():
    lines = leakage_table(ALL).lines
    assert [cell.value for cell in lines[0][3:6]] == pytest.approx([0.225, 0.015, 1 / 15])
    assert [cell.value for cell in lines[1][7:9]] == pytest.approx([0.0975, 0.013])


def test_means_are_those_of_cases_however_many_slices_they_have():
    found = leakage_rows(units=1, cutoffs=(0.25,))
    found = [changed(row, slices=19 if row.case == "a" else 1) for row in found]
    assert [row.hleak for row in found] == pytest.approx([0.075, 0.15])
    assert texts(leakage_table(found).lines[0])[3] == "0.1125"  # by slices: 0.0788
    groups = by_measurement(found)
    assert texts(leakage_overview({"x": next(iter(groups.items()))}).lines[0])[2] == "0.1125"


def test_relative_leakage_is_that_of_the_readout():
    more = [row for row in leakage_rows("without_access") if row.cutoff == 0.25]
    less = [row for row in leakage_rows("so_mamba") if row.cutoff == 0.25]
    more = [changed(row, rleak=row.rleak * 4.9) for row in more]
    table = leakage_table([*less, *more])
    assert [line[6].value for line in table.lines] == pytest.approx([1.0, 4.9])
    assert "| 4.9× |" in markdown(table)
    assert leakage_table(more).lines[0][6] is None


def test_psnr_is_shown_for_the_same_weights_only():
    scored = [*rows("so_mamba", "acdc", 4, psnr=[30.0, 34.0]), *rows("without_outlet", "acdc", 4, psnr=[20.0, 20.0])]
    facts = {"split": "test", "mask": "radial", "weights": "", "mask_digest": scored[0].sampled.mask_digest}
    measured = facts | {"cases": [row.case for row in scored[:2]]}
    leaked = [*leakage_rows("so_mamba", **measured), *leakage_rows("without_outlet", **measured | {"weights": "ff"})]
    assert [texts(line)[3] for line in leakage_table(leaked, scored).lines] == ["32.00", None]
    text = markdown(leakage_table(leaked, scored))
    assert "| SO-Mamba † | ✓ | ✓ | 32.00 |" in text
    assert "| w/o output outlet † | ✓ | – | – |" in text


def test_latex_has_as_many_cells_as_columns():
    text = latex(leakage_table(ALL))
    columns = text.split(r"\begin{tabular}{")[1].split("}")[0]
    for line in text.splitlines():
        if line.startswith(("SO-Mamba", "w/o", "tied", " &")):
            assert line.count("&") == len(columns) - 1
    assert r"\cline{4-7}\cline{8-11}" in text
    assert r"1.0$\times$" in text


def test_csv_holds_all_digits():
    table = leakage_table(ALL)
    found = table.records
    assert len(found) == 6
    assert found[0]["hleak"] == table.lines[0][3].value
    assert (found[0]["method"], found[0]["psnr"], found[0]["whole_split"]) == ("so_mamba", None, True)


def test_seeds_have_lines_of_their_own_and_pair_with_so_mambas():
    trained = [
        leakage_rows(method, seed=seed, weights=f"{method}{seed}")
        for method in ("so_mamba", "tied_decay")
        for seed in (1, 0)
    ]
    trained[0] = [changed(row, rleak=row.rleak / 2) for row in trained[0]]
    table = leakage_table([row for rows_ in trained for row in rows_])
    assert names(table) == [
        "SO-Mamba, seed 0",
        "SO-Mamba, seed 1",
        "tied A/Δ, seed 0",
        "tied A/Δ, seed 1",
    ]
    assert [line[6].value for line in table.lines] == pytest.approx([1.0, 1.0, 1.0, 2.0])
    assert "| tied A/Δ, seed 1 † |" in markdown(table)
    assert [line["seed"] for line in table.records] == [0, 0, 1, 1, 0, 0, 1, 1]


def test_a_seed_that_so_mamba_does_not_have_is_relative_to_nothing():
    so_mamba = [row for seed in (0, 1) for row in leakage_rows(seed=seed, weights=str(seed))]
    table = leakage_table([*so_mamba, *leakage_rows("without_access", seed=2)])
    assert (table.lines[2][6], table.lines[2][10]) == (None, None)
    single = leakage_table([*leakage_rows(seed=1), *leakage_rows("without_access", seed=2)])
    assert [single.lines[1][place].value for place in (6, 10)] == pytest.approx([1.0, 1.0])


def test_a_variant_given_twice_with_one_seed_is_refused():
    with pytest.raises(InputError, match="so_mamba, seed 0, was measured more than once"):
        leakage_table([*leakage_rows(), *leakage_rows(weights="cd" * 8)])


def test_another_network_is_refused():
    with pytest.raises(InputError, match="no variant of SO-Mamba"):
        leakage_table(leakage_rows("something"))


def test_psnr_of_other_cases_or_masks_is_not_shown():
    scored = rows("so_mamba", "acdc", 4, psnr=[30.0, 34.0])
    same = {"split": "test", "mask": "radial", "weights": "", "mask_digest": scored[0].sampled.mask_digest}
    cases = [row.case for row in scored]
    assert leakage_table(leakage_rows(**same, cases=cases), scored).records[0]["psnr"] == 32.0
    assert leakage_table(leakage_rows(**same, cases=cases[:1]), scored).records[0]["psnr"] is None
    other = same | {"mask_digest": "0" * 16}
    assert leakage_table(leakage_rows(**other, cases=cases), scored).records[0]["psnr"] is None
