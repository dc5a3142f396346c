"""Varied scans stay within their bounds, are what their operator says, and repeat by seed, epoch, case and slice."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from somamba.data.batch import collate
from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation import drawn_config
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.simulation.measure import measure
from somamba.data.simulation.seeds import Draw
from somamba.physics.coils.maps import root_sum_of_squares

BOUNDS = Augmentation(acceleration=(2, 4), calibration=(4, 8), coils=(2, 5), snr=(20, 200))
CONFIG = DataConfig(dataset="brain_t1w", protocol="raw", combine="sense", size=(48, 40), augmentation=BOUNDS)
Y, X = np.meshgrid(np.linspace(-1, 1, 48), np.linspace(-1, 1, 40), indexing="ij")
IMAGE = np.where(Y**2 + X**2 < 0.4, 700 + 200 * np.cos(8 * X), 0).astype(np.float32)
DRAWS = [Draw(seed=0, epoch=epoch, case_id="sub-01", slice=number) for epoch in range(4) for number in range(10)]


def test_every_number_is_within_its_bounds_and_all_are_used():
    drawn = [drawn_config(CONFIG, BOUNDS, 40, draw) for draw in DRAWS]
    assert {config.mask_kind for config in drawn} == {"equispaced", "random"}
    assert {config.n_coils for config in drawn} == {2, 3, 4, 5}
    assert all(2 <= config.acceleration <= 4 and 20 <= config.snr <= 200 for config in drawn)
    lines = {round(40 * config.center_fraction) for config in drawn}
    assert {4, 5} <= lines <= {4, 5, 6, 7, 8}


def test_calibration_lines_leave_room_for_others():
    bounds = replace(BOUNDS, acceleration=(8, 8), calibration=(16, 32))
    fractions = [drawn_config(CONFIG, bounds, 64, draw).center_fraction for draw in DRAWS[:5]]
    assert fractions == [4 / 64] * 5


def test_a_scan_repeats_by_its_names_and_differs_by_each_of_them():
    draw = DRAWS[3]
    one = measure(IMAGE, CONFIG, draw)
    assert torch.equal(one.kspace, measure(IMAGE, CONFIG, draw).kspace)
    others = [replace(draw, epoch=9), replace(draw, slice=9), replace(draw, case_id="sub-02"), replace(draw, seed=9)]
    assert all(not _same(one, measure(IMAGE, CONFIG, other)) for other in others)


def _same(one, other):
    return one.kspace.shape == other.kspace.shape and torch.equal(one.kspace, other.kspace)


def test_without_undersampling_the_operator_gives_the_target_back_but_for_noise():
    bounds = replace(BOUNDS, acceleration=(1, 1), masks=("random",), snr=(1e5, 1e5))
    for draw in DRAWS[:4]:
        batch = collate([measure(IMAGE, replace(CONFIG, augmentation=bounds), draw)])
        assert batch.mask.all()
        image = root_sum_of_squares(batch.A.adjoint(batch.y))
        seen = batch.A.factors[-1].maps.abs().sum(dim=1, keepdim=True) > 0
        torch.testing.assert_close(image[seen], batch.target[seen], atol=2e-3, rtol=0)


def test_maps_have_unit_norm_where_they_are_not_zero():
    for draw in DRAWS[:5]:
        maps = measure(IMAGE, CONFIG, draw).maps
        norm = torch.linalg.vector_norm(maps, dim=0)
        assert torch.allclose(norm[norm > 0], torch.ones(()), atol=1e-5)
        assert (norm == 0).any()


def test_only_measured_columns_hold_samples():
    sample = measure(IMAGE, CONFIG, DRAWS[0])
    assert sample.kspace[..., sample.mask[0, 0]].all()
    assert not sample.kspace[..., ~sample.mask[0, 0]].any()


def test_noise_has_the_drawn_ratio():
    bounds = replace(BOUNDS, acceleration=(1, 1), masks=("random",), snr=(30, 30), coils=(4, 4))
    noisy, quiet = (
        measure(IMAGE, replace(CONFIG, augmentation=replace(bounds, snr=(snr, snr))), DRAWS[0]) for snr in (30, 1e6)
    )
    noise = noisy.kspace * noisy.scale - quiet.kspace * quiet.scale
    expected = np.quantile(quiet.target.numpy() * quiet.scale, 0.99) / 30
    assert float(noise.real.std()) == pytest.approx(expected, rel=0.05)


def test_without_anatomy_the_target_is_the_image():
    config = replace(CONFIG, augmentation=replace(BOUNDS, anatomy=False))
    sample = measure(IMAGE, config, DRAWS[0])
    torch.testing.assert_close(sample.target[0] * sample.scale, torch.from_numpy(IMAGE), rtol=1e-4, atol=1e-2)


def test_scans_of_different_coils_share_a_batch_and_reconstruct_as_alone():
    samples = [measure(IMAGE, CONFIG, draw) for draw in DRAWS[:4]]
    assert len({len(sample.kspace) for sample in samples}) > 1
    batch = collate(samples)
    together = batch.A.adjoint(batch.y)
    for row, sample in enumerate(samples):
        alone = collate([sample])
        torch.testing.assert_close(together[row : row + 1], alone.A.adjoint(alone.y))
