"""A journal becomes a picture that shows its numbers."""

import numpy as np
import pytest
from PIL import Image

from somamba.errors import InputError
from somamba.report.figures.curves import draw_curves

pytest.importorskip("matplotlib")


def journal(steps=60, validations=((30, 28.5), (60, 30.25))):
    events = [{"event": "start", "step": 0}]
    events += [{"event": "step", "step": i, "loss": 1 / i} for i in range(1, steps + 1)]
    return events + [{"event": "validation", "step": step, "psnr": psnr} for step, psnr in validations]


def test_the_picture_says_best_score_baseline_and_names(tmp_path):
    draw_curves(
        {"mine": journal(), "without_outlet": journal(10, ())}, tmp_path / "c.svg", baseline=25.38, title="A title"
    )
    picture = (tmp_path / "c.svg").read_text()
    for text in (
        "mine, best 30.25 dB (step 60)",
        "zero-filled 25.38 dB",
        "training loss, mean of 50 steps",
        "w/o output outlet",
        "A title",
    ):
        assert f"<!-- {text} -->" in picture


@pytest.mark.parametrize("runs", [2, 5, 12])
@pytest.mark.parametrize("letters", [4, 30, 70])
def test_no_name_is_cut_at_the_edge(runs, letters, tmp_path):
    names = [f"{'n' * letters}{place}" for place in range(runs)]
    draw_curves({name: journal() for name in names}, tmp_path / "c.png", baseline=25.38)
    picture = np.asarray(Image.open(tmp_path / "c.png").convert("L"))
    edges = picture[:, 0], picture[:, -1], picture[0], picture[-1]
    assert all((edge == 255).all() for edge in edges)


def test_the_ending_decides_the_format(tmp_path):
    draw_curves({"mine": journal()}, tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_a_step_that_was_skipped_leaves_a_gap_and_no_error(tmp_path):
    events = [*journal(5, ()), {"event": "step", "step": 6, "loss": None}]
    draw_curves({"mine": events}, tmp_path / "c.png")
    assert (tmp_path / "c.png").exists()


def test_a_run_without_a_step_is_refused_in_words(tmp_path):
    with pytest.raises(InputError, match="journal of mine holds no training step"):
        draw_curves({"mine": [{"event": "start", "step": 0}]}, tmp_path / "c.png")
    assert not (tmp_path / "c.png").exists()
