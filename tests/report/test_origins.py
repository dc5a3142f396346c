"""Where things come from, also where little is known."""

import dataclasses

from evaluation.made_gallery import write_gallery
from report.made_rows import rows
from somamba.evaluation.gallery_files import read_gallery
from somamba.report.origins import origins_section
from somamba.report.scores import contests
from somamba.report.sources import Sources, TrainedRun


def test_a_run_that_says_nothing_has_a_heading_only():
    run = TrainedRun(name="young", events=[], config={"code": "odd"}, recipe="")
    html = origins_section(Sources(runs=[run]), [], made_by={})
    assert "Training: young" in html
    assert "<dt>" not in html


def test_a_mask_of_each_case_is_counted():
    found = [
        dataclasses.replace(row, mask_digest=f"d{i}") for i, row in enumerate(rows("unet", "acdc", 4, psnr=(1, 2)))
    ]
    html = origins_section(Sources(rows=found), contests(found), made_by={})
    assert "d0 and 1 more, one for each case" in html


def test_a_recipe_that_a_run_shows_already_is_not_shown_again(tmp_path):
    write_gallery(tmp_path, labels=("so_mamba",))
    cases = list(read_gallery(tmp_path))
    recipe = "model: so_mamba\ndata:\n  acceleration: 4.0\n"
    for runs, count in (([], 1), ([TrainedRun(name="a", events=[], config={}, recipe=recipe)], 0)):
        html = origins_section(Sources(cases=cases, runs=runs), [], made_by={})
        assert html.count("Recipe of SO-Mamba") == count


def test_cases_through_one_mask_share_its_picture(tmp_path):
    write_gallery(tmp_path)
    html = origins_section(Sources(cases=list(read_gallery(tmp_path))), [], made_by={})
    assert html.count("<img") == 1
    assert "patient&lt;b&gt;2" in html
