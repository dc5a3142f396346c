"""The three ways a table is written down."""

import csv
import io

import pytest

from results.made_rows import rows
from somamba.errors import UnknownNameError
from somamba.report.render import FORMATS
from somamba.report.tables.scores import score_table

TWO = rows("so_mamba", "acdc", 4, psnr=[33.0, 34.0]) + rows("unet", "acdc", 4, psnr=[30.0, 31.0])


def test_markdown_has_one_line_a_method_and_the_best_in_bold():
    heading, rule, unet, so_mamba = FORMATS["markdown"](score_table(TWO)).splitlines()
    assert heading == "| Method | ACDC PSNR ↑ ×4 | ACDC SSIM ↑ ×4 |"
    assert rule == "| --- | ---: | ---: |"
    assert unet.startswith("| UNet | 30.50 ± 0.50 |")
    assert so_mamba.startswith("| SO-Mamba | **33.50** ± 0.50 |")


def test_markdown_explains_a_part_of_the_split():
    text = FORMATS["markdown"](score_table(rows("unet", "acdc", 4, split_cases=50), layout="blocks"))
    assert "| ×4 | UNet |" in text
    assert text.count("†") == 3


def test_latex_is_the_papers_table():
    eight = rows("so_mamba", "acdc", 8, psnr=[27.0])
    lines = FORMATS["latex"](score_table(TWO + eight)).splitlines()
    assert r"\begin{tabular}{lcccc}" in lines
    assert r"\multirow{3}{*}{\textbf{Method}} & \multicolumn{4}{c}{\textbf{ACDC}} \\" in lines
    assert r" & \multicolumn{2}{c}{\textbf{PSNR} $\uparrow$} & \multicolumn{2}{c}{\textbf{SSIM} $\uparrow$} \\" in lines
    factors = [rf"\multicolumn{{1}}{{c}}{{AF={factor}}}" for factor in (4, 8, 4, 8)]
    assert rf" & {' & '.join(factors)} \\" in lines
    assert any(line.startswith(r"SO-Mamba & \bmstd{33.50}{0.50} & \mstd{27.00}{0.00}") for line in lines)
    assert any(line.startswith(r"UNet & \mstd{30.50}{0.50} & --") for line in lines)


def test_latex_blocks_span_their_methods():
    text = FORMATS["latex"](score_table(TWO + rows("so_mamba", "acdc", 8), layout="blocks"))
    assert r"\multirow{2}{*}{$\times 4$} & UNet" in text
    assert r"\multirow{1}{*}{$\times 8$} & SO-Mamba" in text
    assert text.count(r"\midrule") == 2


@pytest.fixture
def ownership():
    made = [*rows("so_mamba", "acdc", 4), *rows("without_access", "acdc", 4), *rows("tied_decay", "acdc", 4)]
    return score_table(made, layout="ownership", metrics=["psnr"])


def test_routes_are_ticked_in_markdown(ownership):
    lines = FORMATS["markdown"](ownership).splitlines()
    assert lines[0] == "| Method | SOR | G→u | Access | Outlet | ACDC PSNR ↑ ×4 |"
    assert lines[1] == "| --- | :---: | :---: | :---: | :---: | ---: |"
    assert lines[2].startswith("| w/o state access | ✓ | – | – | ✓ |")


def test_routes_are_ticked_in_latex(ownership):
    text = FORMATS["latex"](ownership)
    assert r"\begin{tabular}{lccccc}" in text
    assert r"\multirow{3}{*}{\textbf{G$\to$u}}" in text
    assert r"w/o state access & $\checkmark$ & -- & -- & $\checkmark$ & " in text
    assert r"tied A/$\Delta$ & " in text
    assert r"\cmidrule(lr){6-6}" in text


def test_routes_are_numbers_in_csv(ownership):
    first = next(csv.DictReader(io.StringIO(FORMATS["csv"](ownership))))
    assert [first[name] for name in ("method", "SOR", "G→u", "Access", "Outlet", "metric")] == [
        "w/o state access",
        "1",
        "0",
        "0",
        "1",
        "psnr",
    ]


def test_csv_has_a_line_for_every_cell():
    lines = list(csv.DictReader(io.StringIO(FORMATS["csv"](score_table(TWO)))))
    assert [(x["method"], x["metric"], x["mean"], x["best"]) for x in lines[:1]] == [("UNet", "psnr", "30.50", "0")]
    assert len(lines) == 4


@pytest.mark.parametrize("layout", ["columns", "blocks"])
def test_hostile_names_stay_inside_their_cell(layout):
    table = score_table(rows("=cmd|<script> %_&", "acdc", 4), layout=layout)
    markdown = FORMATS["markdown"](table)
    assert "<script>" not in markdown
    assert len({line.replace("\\|", "").count("|") for line in markdown.splitlines()}) == 1
    assert r"=cmd|<script> \%\_\&" in FORMATS["latex"](table)
    assert "'=cmd" in FORMATS["csv"](table)


def test_an_unknown_format_is_named():
    with pytest.raises(UnknownNameError, match="markdown, latex, csv"):
        FORMATS["word"]
