"""Scans with estimated maps stay within their bounds, repeat by their names, and fit their operator."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from somamba.data.batch import collate
from somamba.data.config import DataConfig
from somamba.data.simulation.augmentation_config import Augmentation
from somamba.data.simulation.measure import measure
from somamba.data.simulation.scanned import folded, partly, scan_config
from somamba.data.simulation.scanner import generator
from somamba.data.simulation.seeds import Draw
from somamba.errors import ConfigError, DataError

BOUNDS = Augmentation(
    maps="estimated",
    acceleration=(2, 5),
    calibration=(12, 20),
    coils=(3, 9),
    compressed=5,
    size=(64, 96),
    snr=(50, 200),
)
CONFIG = DataConfig(dataset="heads", protocol="raw", combine="sense", augmentation=BOUNDS)
Y, X = np.meshgrid(np.linspace(-1, 1, 110), np.linspace(-1, 1, 90), indexing="ij")
IMAGE = np.where(Y**2 + X**2 < 0.7, 700 + 200 * np.cos(8 * X) * np.sin(9 * Y), 0).astype(np.float32)
DRAWS = [Draw(seed=0, epoch=epoch, case_id="head", slice=number) for epoch in range(3) for number in range(8)]


def with_bounds(**changes):
    return replace(CONFIG, augmentation=replace(BOUNDS, **changes))


def test_sizes_coils_and_lines_are_within_their_bounds():
    samples = [measure(IMAGE, CONFIG, draw) for draw in DRAWS]
    for sample in samples:
        coils, rows, columns = sample.kspace.shape
        assert 3 <= coils <= 5
        assert 64 <= rows <= 96
        assert 64 <= columns <= 96
        assert rows % 8 == 0
        assert columns % 8 == 0
        assert sample.target.shape == (1, rows, columns)
        lines = sample.mask[0].any(dim=0)
        assert int(lines[columns // 2 - 4 : columns // 2 + 4].sum()) == 8
        assert 1.5 < columns / int(lines.sum()) < 8
    assert len({sample.kspace.shape for sample in samples}) > 5


def test_calibration_lines_may_be_most_of_the_acquired_ones():
    numbers = [scan_config(CONFIG, replace(BOUNDS, acceleration=(8, 8)), 224, generator(seed)) for seed in range(20)]
    lines = [round(224 * config.center_fraction) for config in numbers]
    assert max(lines) > 14
    assert max(lines) < 28


def test_a_scan_repeats_by_its_names_and_differs_by_each_of_them():
    draw = DRAWS[3]
    one, again = measure(IMAGE, CONFIG, draw), measure(IMAGE, CONFIG, draw)
    assert torch.equal(one.kspace, again.kspace)
    assert torch.equal(one.maps, again.maps)
    for other in (replace(draw, epoch=9), replace(draw, slice=9), replace(draw, case_id="x"), replace(draw, seed=9)):
        sample = measure(IMAGE, CONFIG, other)
        assert sample.kspace.shape != one.kspace.shape or not torch.equal(sample.kspace, one.kspace)


def test_without_undersampling_the_operator_gives_the_target_back_but_for_noise_and_errors_of_the_maps():
    config = with_bounds(acceleration=(1, 1), masks=("random",), snr=(1e5, 1e5), padded=0, folded=0)
    for draw in DRAWS[:4]:
        batch = collate([measure(IMAGE, config, draw)])
        assert batch.mask.all()
        torch.testing.assert_close(batch.A.adjoint(batch.y).abs(), batch.target, atol=5e-3, rtol=0)


def test_the_maps_explain_the_measured_samples():
    config = with_bounds(acceleration=(1, 1), masks=("random",), snr=(1e4, 1e4), padded=0, folded=0)
    for draw in DRAWS[:4]:
        batch = collate([measure(IMAGE, config, draw)])
        rest = batch.A(batch.A.adjoint(batch.y)) - batch.y
        assert rest.norm() < 0.1 * batch.y.norm()


def test_noise_has_the_drawn_ratio():
    bounds = {"acceleration": (1, 1), "masks": ("random",), "coils": (4, 4), "padded": 0}
    noisy, quiet = (measure(IMAGE, with_bounds(**bounds, snr=(snr, snr)), DRAWS[0]) for snr in (30, 1e6))
    noise = noisy.kspace * noisy.scale - quiet.kspace * quiet.scale
    expected = np.quantile(quiet.target.numpy() * quiet.scale, 0.99) / 30
    assert float(noise.real.std()) == pytest.approx(expected, rel=0.1)


def test_rows_that_were_never_acquired_are_measured_zeros_and_columns_are_not_measured():
    config = with_bounds(padded=1, folded=0, acceleration=(1, 1), masks=("random",), snr=(1e6, 1e6))
    samples = [measure(IMAGE, config, draw) for draw in DRAWS[:6]]
    for sample in samples:
        columns = sample.mask[0, 0]
        assert sample.mask.shape[1] == 1
        assert not sample.kspace[..., ~columns].any()
        rows = sample.kspace.any(dim=0).any(dim=1)
        assert sample.kspace[:, rows][..., columns].any(dim=0).all()
        assert not columns.all() or not rows.all()
    assert any(sample.mask.all() for sample in samples)
    assert not all(sample.mask.all() for sample in samples)


def test_only_whole_columns_are_left_out_of_a_scan_that_is_not_padded():
    sample = measure(IMAGE, with_bounds(padded=0), DRAWS[0])
    assert sample.mask.shape[1] == 1
    assert sample.kspace[..., sample.mask[0, 0]].all()
    assert not sample.kspace[..., ~sample.mask[0, 0]].any()


def test_parts_that_were_acquired_hold_the_centre():
    for seed in range(20):
        acquired = partly((64, 80), generator(seed))
        assert acquired[20:44, 24:56].all()
        assert not acquired.all()


def test_folding_adds_what_lies_a_field_of_view_away():
    wide = torch.arange(24.0).to(torch.complex64).expand(2, 3, 24)
    seen = folded(wide, 16)
    # Columns 4 to 19 of the wide image are in the field of view, the others fold in from its other side.
    expected = torch.arange(4.0, 20.0)
    expected[12:] += torch.arange(0.0, 4.0)
    expected[:4] += torch.arange(20.0, 24.0)
    torch.testing.assert_close(seen[0, 0].real, expected)


def test_a_folded_scan_has_a_target_as_its_maps_make_it():
    sample = measure(IMAGE, with_bounds(folded=1, padded=0), DRAWS[1])
    assert bool(torch.isfinite(sample.target).all())
    assert float(sample.target.max()) > 0.5


def test_coils_are_compressed_only_if_there_are_too_many():
    assert len(measure(IMAGE, with_bounds(coils=(20, 20), compressed=6), DRAWS[0]).kspace) == 6
    assert len(measure(IMAGE, with_bounds(coils=(4, 4), compressed=6), DRAWS[0]).kspace) == 4


def test_an_image_of_one_bright_pixel_is_refused_by_name():
    image = np.zeros((64, 64), dtype=np.float32)
    image[30, 30] = 1e-30
    with pytest.raises(DataError, match=r"'head', slice 0.*no coil maps"):
        measure(image, with_bounds(padded=0, folded=0, snr=(1e-6, 1e-6)), DRAWS[0])


def test_bounds_that_cannot_be_are_refused():
    with pytest.raises(ConfigError, match=r"augmentation.padded=2"):
        replace(BOUNDS, padded=2)
    with pytest.raises(ConfigError, match=r"augmentation.size"):
        replace(BOUNDS, size=(96, 64))
    with pytest.raises(ConfigError, match=r"augmentation.compressed=0"):
        replace(BOUNDS, compressed=0)


def test_accelerations_are_spread_over_their_logarithm():
    drawn = [
        scan_config(CONFIG, replace(BOUNDS, acceleration=(2, 8)), 224, generator(seed)).acceleration
        for seed in range(200)
    ]
    assert np.mean(np.array(drawn) < 4) == pytest.approx(0.5, abs=0.12)
    assert math.isclose(min(drawn), 2, rel_tol=0.1)
