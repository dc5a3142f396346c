"""Pictures and pages of reconstructions stand on their own."""

import re

import numpy as np
import pytest

from somamba.report.figures.canvas import figure_bytes
from somamba.report.page.pixels import picture_link
from somamba.report.panels import PageText, Panel, panels_figure, panels_page

REFERENCE = np.random.default_rng(0).random((16, 20)).astype(np.complex64)
PANELS = [
    Panel(name="zero <filled>", image=0.9 * REFERENCE, psnr=20.123, ssim=0.5, seconds=0.1),
    Panel(name="CG-SENSE", image=REFERENCE, psnr=30.0, ssim=0.9, seconds=1.0),
]
MASK = np.arange(20)[None].repeat(16, axis=0) % 4 == 0
TEXT = PageText(
    title="A & B",
    summary="two",
    mask=MASK,
    mask_kind="equispaced",
    facts={"command": "somamba <again>"},
    next_steps={"to go on": "somamba inspect"},
    note="from here",
)


def test_the_page_holds_every_number_and_asks_nothing_of_the_network():
    page = panels_page(REFERENCE, PANELS, TEXT)
    assert "zero &lt;filled&gt;" in page
    assert "zero <filled>" not in page
    assert "<title>A &amp; B</title>" in page
    assert "20.12" in page
    assert "from here" in page
    assert "somamba &lt;again&gt;" in page
    assert "to go on" in page
    assert picture_link(MASK) in page
    assert not re.search(r"""(src|href)=["']?https?:""", page)


def test_the_picture_has_a_column_for_every_image():
    pytest.importorskip("matplotlib")
    one, two = (figure_bytes(panels_figure(REFERENCE, PANELS[:count]), "png") for count in (1, 2))
    width = [int.from_bytes(png[16:20], "big") for png in (one, two)]
    assert width[1] == pytest.approx(1.5 * width[0], rel=0.02)


def test_the_picture_shows_what_was_measured():
    pytest.importorskip("matplotlib")
    samples = np.zeros((16, 20), np.float32)
    samples[:, ::4] = 1 + np.abs(REFERENCE)[:, ::4]
    figure = panels_figure(REFERENCE, PANELS, samples=samples)
    titles = [axes.get_title() for axes in figure.axes]
    assert "what was measured: 25%" in titles
    shown = figure.axes[titles.index("what was measured: 25%")].images[0].get_array()
    np.testing.assert_array_equal(np.asarray(shown) > shown.min(), samples > 0)
