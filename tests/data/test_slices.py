"""A split is a sequence of samples: numbered through, repeatable, and equal to what an independent program computes."""

import nibabel
import numpy as np
import pytest
import torch

from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices, open_validation
from somamba.errors import DataError
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.masks import golden_radial

SETTINGS = {
    "fastmri": {"size": (32, 24)},
    "fastmri_multicoil": {"protocol": "raw"},
    "cc359": {"size": (32, 24)},
    "cc359_multicoil": {"protocol": "raw"},
    "acdc": {"size": (32, 24)},
    "m4raw": {"protocol": "raw"},
    "prostate158": {"size": (32, 24)},
}


def opened(name, root, split="train", **settings):
    config = DataConfig(dataset=name, path=str(root), cache=str(root / "cache"), **{**SETTINGS[name], **settings})
    return open_slices(config, split)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_dataset_gives_batches_of_its_valid_slices(name, tmp_path):
    write_phantom(name, tmp_path, cases={"train": 3, "val": 1, "test": 1})
    for split in ("train", "val", "test"):
        dataset = opened(name, tmp_path, split)
        assert len(dataset) == 4 * len(dataset.cases)
        batch = dataset.batch(range(2))
        assert batch.y.shape[-2:] == batch.target.shape[-2:] == (32, 24)
        zero_filled = root_sum_of_squares(batch.A.adjoint(batch.y))
        assert torch.isfinite(zero_filled).all()
        assert 0 < float((zero_filled - batch.target).norm() / batch.target.norm()) < 0.8


def test_samples_know_their_case_and_slice(tmp_path):
    write_phantom("cc359", tmp_path, cases={"train": 3})
    dataset = opened("cc359", tmp_path)
    names = [(sample.case_id, sample.slice) for sample in dataset]
    assert names == [(case.id, number) for case in dataset.cases for number in range(30, 34)]
    with pytest.raises(IndexError):
        dataset[len(dataset)]


def test_epochs_change_drawn_masks_and_nothing_else(tmp_path):
    write_phantom("m4raw", tmp_path, cases={"train": 1}, shape=(32, 64))
    dataset = opened("m4raw", tmp_path, mask="random")
    first, again, later = dataset[0], opened("m4raw", tmp_path, mask="random")[0], dataset.at(1)[0]
    assert torch.equal(first.kspace, again.kspace)
    assert not torch.equal(first.mask, later.mask)
    torch.testing.assert_close(first.target * first.scale, later.target * later.scale)


def test_the_number_of_cases_can_be_limited_and_progress_is_told(tmp_path):
    write_phantom("acdc", tmp_path, cases={"train": 3})
    told = []
    config = DataConfig(path=str(tmp_path), cache=str(tmp_path / "cache"), size=(16, 16))
    dataset = open_slices(config, "train", limit_cases=1, on_case=lambda done, total: told.append((done, total)))
    assert ([case.id for case in dataset.cases], told) == (["patient002"], [(1, 2)])
    with pytest.raises(DataError, match="limit_cases=0"):
        open_slices(config, "train", limit_cases=0)


def test_left_out_cases_are_named(tmp_path):
    write_phantom("fastmri", tmp_path, cases={"train": 2})
    train, val = opened("fastmri", tmp_path), opened("fastmri", tmp_path, "val")
    assert [item.reason for item in (*train.left_out, *val.left_out)] == ["acquisition CORPD_FBK, not CORPDFS_FBK"]


@pytest.mark.parametrize("spokes", [32, 16])
def test_zero_filled_acdc_equals_an_independent_computation(shared_data, tmp_path, spokes):
    """The same PSNR as nibabel and numpy give without any of our readers, transforms or preparation."""
    config = DataConfig(path=str(shared_data / "acdc"), cache=str(tmp_path), acceleration=128 / spokes)
    dataset = open_slices(config, "val", limit_cases=1)
    batch = dataset.batch(range(len(dataset)))
    errors = (batch.A.adjoint(batch.y).abs() - batch.target).square().mean(dim=(1, 2, 3))
    ours = float((-10 * torch.log10(errors)).mean())

    mask = golden_radial(128, spokes).pattern.numpy()
    decibels = []
    for frame in (1, 12):
        path = shared_data / "acdc" / "training" / "patient001" / f"patient001_frame{frame:02d}.nii.gz"
        for image in nibabel.load(path).get_fdata().T:
            top, left = (image.shape[0] - 128) // 2, (image.shape[1] - 128) // 2
            image = image[top : top + 128, left : left + 128]
            image = (image - image.min()) / (image.max() - image.min())
            kspace = np.fft.fft2(image) * np.fft.ifftshift(mask)
            decibels.append(-10 * np.log10(np.mean((np.abs(np.fft.ifft2(kspace)) - image) ** 2)))
    assert ours == pytest.approx(np.mean(decibels), abs=1e-3)
    assert len(decibels) == len(dataset)


def test_zero_filled_acdc_lies_where_the_protocol_was_measured(shared_data, tmp_path):
    """On the official test patients this protocol gives 25.37 dB with 32 spokes, between patients +- 1.3 dB."""
    dataset = open_slices(DataConfig(path=str(shared_data / "acdc"), cache=str(tmp_path)), "val", limit_cases=4)
    batch = dataset.batch(range(len(dataset)))
    errors = (batch.A.adjoint(batch.y).abs() - batch.target).square().mean(dim=(1, 2, 3))
    decibels = dict.fromkeys(batch.case_ids, ())
    for case, error in zip(batch.case_ids, errors.tolist(), strict=True):
        decibels[case] += (-10 * np.log10(error),)
    assert len(decibels) == 4
    assert abs(np.mean([np.mean(values) for values in decibels.values()]) - 25.37) < 1.5
    assert float(batch.mask.float().mean()) == pytest.approx(0.246, abs=5e-4)


def test_one_case_can_be_opened_by_its_name(tmp_path):
    write_phantom("cc359", tmp_path, cases={"train": 3})
    names = [case.id for case in opened("cc359", tmp_path).cases]
    config = DataConfig(dataset="cc359", path=str(tmp_path), cache=str(tmp_path / "cache"), size=(32, 24))
    assert [case.id for case in open_slices(config, "train", only=names[1]).cases] == names[1:2]
    with pytest.raises(DataError, match=f"Did you mean '{names[1]}'"):
        open_slices(config, "train", only=names[1] + "x")


@pytest.mark.parametrize(("name", "official"), [("acdc", 0), ("cc359", 0), ("prostate158", 0), ("m4raw", 1)])
def test_without_validation_all_official_training_cases_are_trained_on(name, official, tmp_path):
    write_phantom(name, tmp_path, cases={"train": 3, "val": 1, "test": 1})
    carved, whole = (opened(name, tmp_path, validation=words) for words in ("carved", "none"))
    held_out = open_validation(carved.config)
    assert len(held_out.cases) > 0
    assert len(open_validation(whole.config).cases) == official
    names = {case.id for case in carved.cases} | ({case.id for case in held_out.cases} if not official else set())
    assert {case.id for case in whole.cases} == names
    if not official:
        with pytest.raises(DataError, match="no validation cases with validation: none"):
            open_slices(whole.config, "val")
