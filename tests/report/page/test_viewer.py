"""The viewer takes arrays, checks them at the door and puts them into the page."""

import json

import numpy as np
import pytest

from somamba.errors import InputError
from somamba.report.page.viewer import ViewerCase, ViewerImage, viewer

STACK = np.linspace(0, 2, 2 * 6 * 7).reshape(2, 6, 7)


def data(cases):
    text = viewer(cases).split('id="viewer-data">')[1].removesuffix("</script>")
    return json.loads(text)["cases"]


def test_the_reference_comes_first_and_scores_are_kept():
    ours = ViewerImage(label="ours", pixels=STACK * 1j, psnr=(30.123456, np.inf), ssim=(0.9, 1.0))
    (case,) = data([ViewerCase(name="a", images=[ours], reference=STACK, slices=(4, 9))])
    assert [image["label"] for image in case["images"]] == ["Reference", "ours"]
    assert case["images"][1]["psnr"] == [30.1235, None]
    assert (case["slices"], case["height"], case["width"], case["peak"]) == ([4, 9], 6, 7, 2.0)


def test_a_case_without_reference_has_no_errors_to_show():
    (case,) = data([ViewerCase(name="a", images=[ViewerImage(label="scan", pixels=STACK)])])
    assert case["reference"] is False
    assert case["slices"] == [0, 1]
    assert "psnr" not in case["images"][0]


def test_images_of_zeros_are_shown():
    (case,) = data([ViewerCase(name="a", images=[ViewerImage(label="dark", pixels=0 * STACK)])])
    assert case["peak"] == case["white"] == 1.0


@pytest.mark.parametrize(
    ("pixels", "scores", "message"),
    [
        (STACK[:1], (), r"ours has \(1, 6, 7\), the first|the reference has"),
        (STACK[0], (), r"One slice alone is image\[None\]"),
        (STACK * np.nan, (), "ours has values that are not finite"),
        (STACK, (30.0,), "psnr has 1 values for 2 slices"),
    ],
)
def test_what_cannot_be_shown_is_refused(pixels, scores, message):
    with pytest.raises(InputError, match=message):
        ViewerCase(name="a", images=[ViewerImage(label="ours", pixels=pixels, psnr=scores)], reference=STACK)


def test_nothing_to_show_is_refused():
    with pytest.raises(InputError, match="has no image"):
        ViewerCase(name="a", images=[])
    with pytest.raises(InputError, match="There is no case"):
        viewer([])
