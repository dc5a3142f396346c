"""Slices, cases and rows: every slice once, every case once, and no clamp where there is none to be."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from evaluation.uneven import uneven_slices
from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices
from somamba.errors import InputError
from somamba.evaluation.evaluate import evaluate, magnitude, reconstruct, score_records, summary
from somamba.evaluation.metrics import score
from somamba.models.base import Reconstructor
from somamba.models.zoo import build
from somamba.results.scores import average
from somamba.results.setting import Provenance, Setting, Subject
from somamba.runtime.processes import Processes

ABOUT = Provenance(
    subject=Subject(method="zero_filled", epochs=0.0, seed=0, parameters=0, weights=""),
    setting=Setting(dataset="acdc", split="val", protocol="magnitude", mask="golden-radial", acceleration=4.0),
    cases=2,
    split_cases=2,
    command="-",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 1}, slices=3)
    write_phantom("m4raw", folder / "m4raw", cases={"train": 1, "val": 1, "test": 1}, slices=2)
    return folder


@pytest.fixture(scope="module")
def slices(folder):
    config = DataConfig(path=str(folder / "acdc"), cache=str(folder / "cache"), size=(16, 20))
    return open_slices(config, "val")


class Scaled(Reconstructor):
    """The zero-filled image, spoiled."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, y, A):
        """Reconstruct, and multiply."""
        return A.adjoint(y) * self.factor


def test_a_case_is_the_mean_of_its_slices(slices):
    results = evaluate(build("zero_filled"), slices, batch_size=2)
    assert [result.case for result in results] == ["patient001", "patient004"]
    for number, result in enumerate(results):
        samples = [slices[3 * number + i] for i in range(3)]
        batches = [slices.batch([3 * number + i]) for i in range(3)]
        images = [batch.A.adjoint(batch.y).abs().clamp(0, 1)[0, 0] for batch in batches]
        wanted = np.mean([score(i, s.target[0]) for i, s in zip(images, samples, strict=True)], axis=0)
        assert tuple(result.scores) == pytest.approx(tuple(wanted), rel=1e-12)
        assert result.slices == 3
    assert summary(results)["psnr"].mean == pytest.approx(np.mean([r.scores.psnr for r in results]))


class Recorder(Processes):
    """Two processes in one: keeps what each would send and adds it up."""

    def total(self, values):
        """The sum, from the second process on."""
        BOARD.setdefault(values.dtype, []).append(values.clone())
        return sum(BOARD[values.dtype])


BOARD = {}


@pytest.mark.parametrize("size", [2, 3])
def test_several_processes_give_the_numbers_of_one(slices, size):
    wanted = evaluate(build("zero_filled"), slices, batch_size=2)
    BOARD.clear()
    for rank in range(size - 1):
        with pytest.raises(InputError, match="not at all"):
            evaluate(build("zero_filled"), slices, batch_size=2, processes=Recorder(rank, size))
    assert evaluate(build("zero_filled"), slices, batch_size=2, processes=Recorder(size - 1, size)) == wanted


def test_a_slice_scored_twice_is_refused(slices):
    BOARD.clear()
    evaluate(build("zero_filled"), slices, processes=Recorder(0, 1))
    with pytest.raises(InputError, match="scored twice"):
        evaluate(build("zero_filled"), slices, processes=Recorder(0, 1))


def test_magnitudes_are_cut_to_the_unit_range_in_protocol_magnitude_only(slices):
    batch = slices.batch([0])
    bright = reconstruct(Scaled(50.0), batch)
    assert magnitude(bright, protocol="magnitude").max() == 1
    assert magnitude(bright, protocol="raw").max() > 1


def test_coils_are_merged_before_scoring(folder):
    config = DataConfig(
        dataset="m4raw", path=str(folder / "m4raw"), cache=str(folder / "cache"), protocol="raw", masks="fixed"
    )
    slices = open_slices(replace(config, acceleration=1.0), "test")
    results = evaluate(build("zero_filled"), slices)
    assert results[0].scores.psnr > 100
    assert results[0].sampled.realised_acceleration == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_a_reconstruction_that_is_not_finite_is_named(slices, factor):
    with pytest.raises(InputError, match=r"Case 'patient001', slice 0.*not finite"):
        evaluate(Scaled(factor), slices)


def test_a_scaled_reconstruction_scores_worse(slices):
    right, wrong = (summary(evaluate(Scaled(f), slices))["psnr"].mean for f in (1.0, 0.7))
    assert wrong < right


def test_a_row_says_what_was_measured(slices):
    rows = score_records(evaluate(build("zero_filled"), slices), slices, ABOUT)
    assert [(row.case, row.slices, row.cases) for row in rows] == [("patient001", 3, 2), ("patient004", 3, 2)]
    assert {(row.subject, row.setting, row.command) for row in rows} == {(ABOUT.subject, ABOUT.setting, "-")}
    mask = slices[0].mask
    assert rows[0].sampled.realised_acceleration == mask.numel() / int(mask.sum())
    assert rows[0].sampled == rows[1].sampled


def test_slices_are_averaged_within_a_case_and_cases_after_that(tmp_path):
    slices = uneven_slices(tmp_path)
    single = []
    results = evaluate(
        build("zero_filled"), slices, on_slice=lambda _index, _images, scores: single.append(scores.psnr)
    )
    means = [np.mean(single[:5]), np.mean(single[5:])]
    assert [result.scores.psnr for result in results] == pytest.approx(means)
    assert [(result.case, result.slices) for result in results] == [("patient001", 5), ("patient004", 2)]
    found = summary(results)["psnr"]
    assert found == pytest.approx((np.mean(means), np.std(means)))
    assert abs(found.mean - np.mean(single)) > 1e-3  # the mean over slices is another number
    records = score_records(results, slices, ABOUT)
    assert average(records, "psnr") == found


def test_a_missing_or_double_case_makes_no_rows(slices):
    results = evaluate(build("zero_filled"), slices)
    with pytest.raises(InputError, match="missing: patient004"):
        score_records(results[:1], slices, ABOUT)
    with pytest.raises(InputError, match="more than once: patient001"):
        score_records([results[0], *results], slices, ABOUT)


def test_masks_drawn_for_each_slice_have_a_digest_of_all(slices):
    config = replace(slices.config, mask="random", masks="drawn")
    drawn = replace(slices, config=config)
    first, second = evaluate(build("zero_filled"), drawn)
    assert first.sampled.mask_digest != second.sampled.mask_digest
    assert evaluate(build("zero_filled"), drawn)[0].sampled.mask_digest == first.sampled.mask_digest


def test_zero_filled_on_acdc_is_what_was_measured_elsewhere(shared_data, tmp_path):
    """datasets.md: 25.37 dB at 32 golden-angle spokes and 21.65 dB at 16, mean over the official test patients."""
    for acceleration, wanted in ((4.0, 25.37), (8.0, 21.65)):
        config = DataConfig(path=str(shared_data / "acdc"), cache=str(tmp_path), acceleration=acceleration)
        results = evaluate(build("zero_filled"), open_slices(config, "val", limit_cases=6))
        assert summary(results)["psnr"].mean == pytest.approx(wanted, abs=0.7)
        assert torch.isfinite(torch.tensor([r.scores for r in results])).all()
