"""Scores in a page."""

import re

from results.made_rows import changed, rows
from somamba.report.colours import Palette
from somamba.report.render.html import html as written
from somamba.report.runs import comparable_runs
from somamba.report.sections.scores import means_table, scores_section

ZERO = rows("zero_filled", "acdc", 4, psnr=(25, 26, 27))
OURS = rows("so_mamba", "acdc", 4, psnr=(30, 32, 34), ssim=[0.9] * 3)
COLOURS = Palette((("so_mamba", 0), ("zero_filled", 0)))


def test_one_case_alone_has_no_differences():
    runs = comparable_runs([*rows("unet", "acdc", 4), *rows("lmo", "acdc", 4)])
    assert "Paired differences" not in scores_section(runs, COLOURS)
    assert scores_section([], COLOURS) is None


def test_the_section_shows_means_every_case_and_the_best_in_bold():
    (runs,) = comparable_runs([*ZERO, *OURS])
    html = scores_section([runs], COLOURS)
    assert "<b>32.00</b>" in html
    assert "<b>26.00</b>" not in html
    assert re.search(r'data-value="34\.0">34\.00<', html)
    assert 'id="contest-0-psnr"' in html
    assert html.count("hidden") == 2


def test_routes_are_ticked_where_variants_of_so_mamba_are_compared():
    closed = rows("without_outlet", "acdc", 4, psnr=(29, 31, 33))
    (runs,) = comparable_runs([*ZERO, *OURS, *closed])
    html = written(means_table(runs))
    assert re.findall(r'<button type="button">(SOR|G→u|Access|Outlet)<', html) == ["SOR", "G→u", "Access", "Outlet"]
    ticks = {
        name: re.findall(r"<td[^>]*>(✓|–)</td>", line)[:4]
        for name, line in re.findall(r'<th scope="row">([^<]*)</th>(.*?)</tr>', html)
    }
    assert ticks["w/o output outlet"] == ["✓", "–", "✓", "–"]
    assert ticks["SO-Mamba"] == ["✓", "–", "✓", "✓"]
    (runs,) = comparable_runs([*ZERO, *OURS])
    assert "Outlet" not in written(means_table(runs))


def test_names_of_methods_and_cases_are_text():
    bad = "<script>alert(1)</script>"
    hostile = [changed(row, method=bad, case=f"{bad}{row.case}", command=bad) for row in OURS]
    (runs,) = comparable_runs(hostile)
    assert "<script" not in scores_section([runs], COLOURS)


def test_of_several_trainings_the_longest_is_compared_and_the_page_says_so():
    longer = [changed(row, epochs=4.0, weights="longer", psnr=row.psnr + 1) for row in OURS]
    (runs,) = comparable_runs([*OURS, *longer, *rows("unet", "acdc", 4, psnr=(1, 2, 3))])
    assert runs.of_method("so_mamba") == "SO-Mamba, 4 epochs"
    html = scores_section([runs], COLOURS)
    assert "the longest is compared" in html
    assert "trained for different numbers of epochs" in html
    assert "different numbers of epochs" not in scores_section(comparable_runs([*OURS, *ZERO]), COLOURS)
