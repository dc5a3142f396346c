"""Only what was measured alike is compared."""

import dataclasses
import re

from report.made_rows import rows
from somamba.report.scores import compared, contests, means_table, scores_section

ZERO = rows("zero_filled", "acdc", 4, psnr=(25, 26, 27))
OURS = rows("so_mamba", "acdc", 4, psnr=(30, 32, 34), ssim=[0.9] * 3)


def test_methods_on_the_same_cases_share_a_contest_in_the_papers_order():
    (contest,) = contests([*OURS, *ZERO])
    assert list(contest.entries) == ["Zero-Filling", "SO-Mamba"]
    assert contest.title == "ACDC ×4, test"
    assert contest.best() == "SO-Mamba"


def test_other_masks_cases_or_accelerations_are_other_contests():
    masked = [dataclasses.replace(row, mask_digest="ffff", method="unet") for row in OURS]
    found = contests([*ZERO, *masked, *rows("lmo", "acdc", 8, psnr=(1, 2, 3)), *rows("lmo", "acdc", 4, psnr=(1, 2))])
    assert [list(contest.entries) for contest in found] == [["Zero-Filling"], ["UNet"], ["LMO"], ["LMO"]]


def test_two_trainings_of_a_method_are_told_apart():
    again = [dataclasses.replace(row, seed=1) for row in OURS]
    (contest,) = contests([*OURS, *again])
    assert list(contest.entries) == ["SO-Mamba, seed 0", "SO-Mamba, seed 1"]


def test_differences_are_ours_minus_the_others():
    (contest,) = contests([*ZERO, *OURS])
    found = compared(contest)
    assert [(one.first, one.second, one.metric) for one in found] == [
        ("SO-Mamba", "Zero-Filling", "psnr"),
        ("SO-Mamba", "Zero-Filling", "ssim"),
    ]
    assert found[0].mean == 6.0


def test_one_case_is_not_compared():
    (contest,) = contests([*rows("unet", "acdc", 4), *rows("lmo", "acdc", 4)])
    assert compared(contest) == []
    assert "Paired differences" not in scores_section(contest, "x")


def test_the_section_shows_means_every_case_and_the_best_in_bold():
    (contest,) = contests([*ZERO, *OURS])
    html = scores_section(contest, "c")
    assert "<b>32.00</b>" in html
    assert "<b>26.00</b>" not in html
    assert re.search(r'data-value="34\.0">34\.00<', html)
    assert 'id="c-psnr"' in html
    assert html.count("hidden") == 2


def test_routes_are_ticked_where_variants_of_so_mamba_are_compared():
    closed = rows("without_outlet", "acdc", 4, psnr=(29, 31, 33))
    (contest,) = contests([*ZERO, *OURS, *closed])
    html = means_table(contest)
    assert re.findall(r'<button type="button">(SOR|G→u|Access|Outlet)<', html) == ["SOR", "G→u", "Access", "Outlet"]
    ticks = {
        name: re.findall(r"<td[^>]*>(✓|–)</td>", line)[:4]
        for name, line in re.findall(r'<th scope="row">([^<]*)</th>(.*?)</tr>', html)
    }
    assert ticks["w/o output outlet"] == ["✓", "–", "✓", "–"]
    assert ticks["SO-Mamba"] == ["✓", "–", "✓", "✓"]
    (contest,) = contests([*ZERO, *OURS])
    assert "Outlet" not in means_table(contest)


def test_names_of_methods_and_cases_are_text():
    bad = "<script>alert(1)</script>"
    hostile = [dataclasses.replace(row, method=bad, case=f"{bad}{row.case}", command=bad) for row in OURS]
    (contest,) = contests(hostile)
    assert "<script" not in scores_section(contest, "c")


def test_of_several_trainings_the_longest_is_compared_and_the_page_says_so():
    longer = [dataclasses.replace(row, epochs=4.0, weights="longer", psnr=row.psnr + 1) for row in OURS]
    (contest,) = contests([*OURS, *longer, *rows("unet", "acdc", 4, psnr=(1, 2, 3))])
    assert contest.of_model("so_mamba") == "SO-Mamba, 4 epochs"
    html = scores_section(contest, "c")
    assert "the longest is compared" in html
    assert "trained for different numbers of epochs" in html
    assert "different numbers of epochs" not in scores_section(contests([*OURS, *ZERO])[0], "c")
