"""The paper's Figure 2 shows what the gallery keeps, every error in the same colours."""

import numpy as np
import pytest

from report.figures.words import words_of
from results import made_gallery
from somamba.errors import InputError
from somamba.report.figures.reconstructions import Box, reconstructions_figure, typical_slice, worst_box
from somamba.results.gallery import read_gallery

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    made_gallery.write_gallery(folder, cases=("patient$1$",), labels=("unet", "so_mamba", "my <own>"), size=(20, 24))
    return read_gallery(folder)[0]


def pictures(figure):
    """The images of the figure, row by row."""
    return [axes.images[0] for axes in figure.axes if axes.images and axes.get_label() != "<colorbar>"]


def test_every_method_has_a_column_in_the_papers_order(case):
    titles = [axes.get_title() for axes in reconstructions_figure(case).axes[:5]]
    assert titles == ["Target", "Zero-Filling", "UNet", "SO-Mamba", "my <own>"]


def test_the_caption_says_what_was_measured_and_who_chose(case):
    words = words_of(reconstructions_figure(case))
    for text in ("ACDC val, patient$1$, slice 3 (median", "golden-radial", "nominal ×4", "realised ×4.07", "errs most"):
        assert text in words.replace("\\$", "$")
    words = words_of(reconstructions_figure(case, number=2, box=Box(1, 2, 5)))
    assert "slice 2;" in words
    assert "5×5 pixels at y 1, x 2." in words
    assert "errs most" not in words


def test_scores_are_those_of_the_slice(case):
    words = words_of(reconstructions_figure(case, number=4))
    assert "22.00 dB / 0.500" in words
    assert words.count("32.00 dB / 0.900") == 3


def test_errors_share_one_range_and_are_those_of_the_magnitude(case):
    figure = reconstructions_figure(case, number=2, error_range=0.3)
    errors = [image for image in pictures(figure) if image.get_cmap().name == "inferno"]
    assert len(errors) == 4
    assert {image.get_clim() for image in errors} == {(0, 0.3)}
    target = case.measurement().target[0]
    np.testing.assert_allclose(errors[1].get_array(), 0.1 * target / target.max(), rtol=1e-3, atol=1e-6)


def test_the_range_of_errors_does_not_depend_on_the_case(case, tmp_path):
    made_gallery.write_gallery(tmp_path, cases=("a",), labels=("so_mamba",))
    ranges = [
        {image.get_clim() for image in pictures(reconstructions_figure(one)) if image.get_cmap().name == "inferno"}
        for one in (case, read_gallery(tmp_path)[0])
    ]
    assert ranges[0] == ranges[1]


def test_the_box_is_enlarged(case):
    parts = pictures(reconstructions_figure(case, number=2, box=Box(3, 4, 6)))[5:10]
    np.testing.assert_array_equal(parts[0].get_array(), case.measurement().target[0, 3:9, 4:10])


def test_zero_filled_evaluated_as_a_method_is_not_shown_twice(tmp_path):
    made_gallery.write_gallery(tmp_path, cases=("a",), labels=("zero_filled",))
    figure = reconstructions_figure(read_gallery(tmp_path)[0])
    assert [axes.get_title() for axes in figure.axes[:3]] == ["Target", "Zero-Filling", ""]


def test_the_default_slice_is_the_median(case):
    assert typical_slice(case) == 1


def test_the_default_box_holds_the_largest_error_of_the_middle():
    error = np.zeros((32, 40))
    error[0, 0], error[14, 25] = 100, 1
    box = worst_box(error)
    assert box.size == 8
    assert box.of(error).sum() == 1
    assert worst_box(np.zeros((1, 1))) == Box(0, 0, 1)


@pytest.mark.parametrize("box", [Box(-1, 0, 4), Box(0, 0, 0), Box(17, 0, 4), Box(0, 21, 4)])
def test_a_box_outside_the_picture_is_refused(case, box):
    with pytest.raises(InputError, match="leaves the 20x24 picture"):
        reconstructions_figure(case, box=box)


def test_a_slice_that_was_not_kept_is_refused(case):
    with pytest.raises(InputError, match=r"keeps no slice 1; it keeps 2 to 4"):
        reconstructions_figure(case, number=1)


def test_a_range_without_extent_is_refused(case):
    with pytest.raises(InputError, match="must be positive"):
        reconstructions_figure(case, error_range=float("nan"))
