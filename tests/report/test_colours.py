"""A training has one colour in all sections of a page."""

import re

from results.made_leakage import leakage_rows
from results.made_rows import changed, rows
from somamba.report.colours import again, page_palette
from somamba.report.page.charts import COLOURS, colour_class
from somamba.report.page.document import part
from somamba.report.report import build_report
from somamba.report.sources import Sources, TrainedRun

METHODS = ["zero_filled", "unet", "lmo", "hifi_mamba", "without_outlet", "so_mamba", "ape", "bee", "cat", "dog"]


def run(name, **recipe):
    events = [{"event": "step", "step": step, "loss": 1.0} for step in (1, 2)]
    return TrainedRun(name=name, events=events, config={"recipe": recipe} if recipe else {}, recipe="")


def sources():
    scores = [row for method in METHODS for row in rows(method, "acdc", 4, psnr=(30, 31))]
    leaked = [row for method in ("without_outlet", "so_mamba") for row in leakage_rows(method)]
    trainings = [run(method) for method in reversed(METHODS[1:])]
    return Sources(scores=scores, leakage=leaked, runs=trainings)


def test_so_mamba_is_first_and_others_stand_in_the_papers_order():
    palette = page_palette(sources())
    assert [palette.colour(method) for method in ("so_mamba", "zero_filled", "unet", "dog")] == [0, 1, 2, 9]
    assert len(set(palette.trainings)) == len(METHODS) > 8


def test_seeds_have_colours_of_their_own_and_an_unknown_seed_that_of_the_first():
    twice = [changed(row, seed=seed) for seed in (0, 1) for row in rows("unet", "acdc", 4)]
    palette = page_palette(Sources(scores=twice, runs=[run("unet"), run("x", model="unet", seed=7)]))
    assert palette.trainings == (("unet", 0), ("unet", 1), ("unet", 7))
    assert [palette.colour("unet", seed) for seed in (None, 0, 1, 7)] == [0, 0, 1, 2]


def test_a_colour_that_comes_again_is_marked():
    assert again([0, 1, 0, COLOURS, 2]) == [False, False, True, True, False]


def test_the_colour_of_so_mamba_never_comes_again():
    classes = [colour_class(number) for number in range(3 * COLOURS)]
    assert classes.count("series-1") == 1
    assert set(classes) == {f"series-{number}" for number in range(1, COLOURS + 1)}


def test_every_colour_is_in_the_style_sheets_of_light_and_dark_and_no_two_are_alike():
    style = part("style/page.css")
    for number in range(1, COLOURS + 1):
        assert len(re.findall(rf"--series-{number}: #", style)) == 2
        assert f".series-{number} {{" in part("style/charts.css")
    found = re.findall(r"--series-[0-9]+: (#[0-9a-f]{6})", style)
    assert len(set(found)) == 2 * COLOURS


def test_a_method_has_the_same_colour_in_scores_curves_and_leakage():
    page = build_report(sources())
    for name, colour in (("w/o output outlet", 6), ("SO-Mamba", 1), ("dog", 10)):
        strip = page.split(f"<title>{name}</title></text>")[1]
        assert re.search(r"series-([0-9]+)", strip)[1] == str(colour)
        labels = re.findall(rf'class="label series-([0-9]+)">{name}(?:, HLeak|, RLeak)?<', page)
        assert set(labels) == {str(colour)}
