"""What an evaluation keeps: the images it scored, once for every process layout, and only comparable ones."""

import numpy as np
import pytest

from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.errors import ConfigError, InputError
from somamba.evaluation.evaluate import evaluate
from somamba.evaluation.gallery import GalleryRequest, GalleryWriter
from somamba.evaluation.metrics import score
from somamba.evaluation.spec import EvaluationSpec, run_evaluation
from somamba.inference.weights.trained import Trained, open_model
from somamba.models.base import Reconstructor
from somamba.results.gallery import read_gallery
from somamba.runtime.processes import Processes


class Dimmed(Reconstructor):
    """The zero-filled image, darker."""

    def forward(self, y, A):
        """Reconstruct, and multiply."""
        return A.adjoint(y) * 0.9


class Unwilling(Reconstructor):
    """A network that must not run."""

    def forward(self, *_measurement):
        """Complain."""
        raise AssertionError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_phantom("acdc", folder / "acdc", cases={"train": 6, "test": 1}, slices=3)
    write_phantom("m4raw", folder / "m4raw", cases={"train": 1, "val": 1, "test": 1}, slices=2)
    return folder


def spec(data, dataset="acdc", **changes):
    settings = {"dataset": dataset, "path": str(data / dataset), "cache": str(data / "cache")}
    settings |= {"size": (16, 20)} if dataset == "acdc" else {"protocol": "raw"}
    return EvaluationSpec(source="zero_filled", data=DataConfig(**settings | changes), split="val")


def kept(folder, asked, trained=None, **request):
    trained = trained or open_model("zero_filled")
    return run_evaluation(trained, asked, keep=GalleryRequest(folder=folder, **request))


def test_the_images_that_were_scored_are_kept(data, tmp_path):
    result = kept(tmp_path, spec(data), Trained("unet", Dimmed()), cases=1)
    (case,) = read_gallery(tmp_path)
    measurement, (method,) = case.measurement(), case.methods
    assert (case.facts.case, case.facts.setting.dataset, case.facts.setting.split) == ("patient001", "acdc", "val")
    assert case.facts.sampled.mask_digest == result.scores[0].sampled.mask_digest
    np.testing.assert_allclose(method.reconstruction(), measurement.zero_filled * 0.9, rtol=1e-6)
    for number, target in enumerate(measurement.target):
        wanted = score(np.abs(method.reconstruction()[number]).clip(0, 1), target)
        found = [getattr(method.facts, name)[number] for name in ("psnr", "ssim", "nmse")]
        assert found == pytest.approx(tuple(wanted), rel=1e-5)
    assert np.mean(method.facts.psnr) == pytest.approx(result.scores[0].scores.psnr)
    sampled = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(measurement.target[0]), norm="ortho"))
    image = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(sampled * measurement.mask[0]), norm="ortho"))
    np.testing.assert_allclose(measurement.zero_filled[0], image, atol=1e-6)


def test_the_zero_filled_image_is_scored_as_the_method_is(data, tmp_path):
    kept(tmp_path, spec(data))
    for case in read_gallery(tmp_path):
        assert case.facts.zero_filled_psnr == case.methods[0].facts.psnr
        assert case.facts.zero_filled_ssim == case.methods[0].facts.ssim


def test_no_more_cases_than_asked_for_are_kept(data, tmp_path):
    for number in (1, 2, 50):
        kept(tmp_path / str(number), spec(data), cases=number)
    assert [len(read_gallery(tmp_path / str(number))) for number in (1, 2, 50)] == [1, 2, 2]
    with pytest.raises(ConfigError, match="at least 1"):
        GalleryRequest(folder=tmp_path, cases=0)


def test_masks_drawn_for_each_slice_are_all_kept(data, tmp_path):
    kept(tmp_path, spec(data, mask="random", masks="drawn"), cases=1)
    mask = read_gallery(tmp_path)[0].measurement().mask
    assert mask.shape == (3, 16, 20)
    assert (mask[0] != mask[1]).any()
    kept(tmp_path / "fixed", spec(data), cases=1)
    assert read_gallery(tmp_path / "fixed")[0].measurement().mask.shape == (1, 16, 20)


def test_coils_are_merged_into_a_magnitude(data, tmp_path):
    kept(tmp_path, spec(data, "m4raw"), cases=1)
    (case,) = read_gallery(tmp_path)
    image = case.methods[0].reconstruction()
    assert case.facts.coils > 1
    assert not image.imag.any()
    assert image.shape == case.measurement().target.shape


def test_a_second_method_joins_the_first(data, tmp_path):
    kept(tmp_path, spec(data))
    kept(tmp_path, spec(data), Trained("unet", Dimmed()), label="a darker one")
    for case in read_gallery(tmp_path):
        assert [method.facts.label for method in case.methods] == ["a darker one", "zero_filled"]


def test_another_measurement_in_the_same_folder_is_refused_before_the_work(data, tmp_path):
    kept(tmp_path, spec(data))
    asked = spec(data, acceleration=8)
    with pytest.raises(InputError, match=r"measured otherwise.*x4.*another folder"):
        kept(tmp_path, asked, Trained("unet", Unwilling()))


def test_other_weights_under_the_same_label_are_refused(data, tmp_path):
    asked = spec(data)
    kept(tmp_path, asked, Trained("unet", Dimmed(), "aa"))
    kept(tmp_path, asked, Trained("unet", Dimmed(), "aa"))
    with pytest.raises(InputError, match="--label"):
        kept(tmp_path, asked, Trained("unet", Dimmed(), "bb"))
    kept(tmp_path, asked, Trained("unet", Dimmed(), "bb"), label="unet, seed 2")
    assert len(read_gallery(tmp_path)[0].methods) == 2


@pytest.mark.parametrize("label", ["", "  ", "a\nb"])
def test_a_label_that_does_not_print_is_refused(tmp_path, label):
    with pytest.raises(InputError, match="label"):
        GalleryRequest(folder=tmp_path, label=label)


class Sending(Processes):
    """The second of two processes writes down what it sends, the first adds it to its own."""

    def total(self, values):
        """The sum, in the first."""
        if self.rank == 1:
            SENT.append(values)
            return values
        return values + SENT.pop(0)


SENT = []


def test_several_processes_keep_what_one_keeps(data, tmp_path):
    asked = spec(data)
    result = kept(tmp_path / "one", asked)
    trained, request = open_model("zero_filled"), GalleryRequest(folder=tmp_path / "two")
    keepers = [GalleryWriter(request, result.dataset, trained) for _ in range(2)]
    evaluate(trained.model, result.dataset, on_slice=lambda index, *rest: keepers[index % 2].take(index, *rest))
    for rank in (1, 0):
        keepers[rank].write(result.scores, result.about(), Sending(rank, 2))
    for alone, shared in zip(read_gallery(tmp_path / "one"), read_gallery(tmp_path / "two"), strict=True):
        assert alone.facts == shared.facts
        assert alone.methods[0].facts == shared.methods[0].facts
        np.testing.assert_array_equal(alone.methods[0].reconstruction(), shared.methods[0].reconstruction())
