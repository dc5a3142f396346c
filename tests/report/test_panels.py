"""Pictures and pages of reconstructions stand on their own."""

import base64
import re

import numpy as np
import pytest

from somamba.report.panels import Panel, draw_panels, write_page

pytest.importorskip("matplotlib")
REFERENCE = np.random.default_rng(0).random((16, 20)).astype(np.float32)
PANELS = [
    Panel(method="zero <filled>", image=0.9 * REFERENCE, psnr=20.123, ssim=0.5, seconds=0.1),
    Panel(method="cg_sense", image=REFERENCE, psnr=30.0, ssim=0.9, seconds=1.0),
]


def test_the_page_holds_the_picture_and_every_number_and_asks_nothing_of_the_network(tmp_path):
    draw_panels(tmp_path / "x.png", REFERENCE, PANELS)
    write_page(tmp_path / "x.html", tmp_path / "x.png", PANELS, title="A & B", summary="two", note="from here")
    page = (tmp_path / "x.html").read_text()
    assert "zero &lt;filled&gt;" in page
    assert "A &amp; B" in page
    assert "20.12" in page
    embedded = re.search(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(embedded[1]) == (tmp_path / "x.png").read_bytes()
    assert not re.search(r"https?://|<script", page)


def test_the_picture_is_a_png_with_a_column_for_every_image(tmp_path):
    for count in (1, 2):
        draw_panels(tmp_path / f"{count}.png", REFERENCE, PANELS[:count])
    one, two = ((tmp_path / f"{count}.png").read_bytes() for count in (1, 2))
    width = [int.from_bytes(png[16:20], "big") for png in (one, two)]
    assert one.startswith(b"\x89PNG")
    assert width[1] == pytest.approx(1.5 * width[0], rel=0.02)
