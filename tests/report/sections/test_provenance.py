"""Where things come from, also where little is known."""

from results.made_gallery import write_gallery
from results.made_rows import changed, rows
from somamba.report.runs import comparable_runs
from somamba.report.sections.provenance import provenance_section
from somamba.report.sources import Sources, TrainedRun
from somamba.results.gallery import read_gallery


def test_a_run_that_says_nothing_has_a_heading_only():
    run = TrainedRun(name="young", events=[], config={"code": "odd"}, recipe="")
    html = provenance_section(Sources(runs=[run]), [], made_by={})
    assert "Training: young" in html
    assert "<dt>" not in html


def test_a_mask_of_each_case_is_counted():
    found = [changed(row, mask_digest=f"d{i}") for i, row in enumerate(rows("unet", "acdc", 4, psnr=(1, 2)))]
    html = provenance_section(Sources(scores=found), comparable_runs(found), made_by={})
    assert "d0 and 1 more, one for each case" in html


def test_a_recipe_that_a_run_shows_already_is_not_shown_again(tmp_path):
    write_gallery(tmp_path, labels=("so_mamba",))
    cases = list(read_gallery(tmp_path))
    recipe = "model: so_mamba\ndata:\n  acceleration: 4.0\n"
    for runs, count in (([], 1), ([TrainedRun(name="a", events=[], config={}, recipe=recipe)], 0)):
        html = provenance_section(Sources(cases=cases, runs=runs), [], made_by={})
        assert html.count("Recipe of SO-Mamba") == count


def test_cases_through_one_mask_share_its_picture(tmp_path):
    write_gallery(tmp_path)
    html = provenance_section(Sources(cases=list(read_gallery(tmp_path))), [], made_by={})
    assert html.count("<img") == 1
    assert "patient&lt;b&gt;2" in html
