"""Simulated coils, phase and noise have the properties that make them harmless to the target."""

import numpy as np
import torch

from somamba.data.simulation.scanner import coil_maps, complex_noise, enlarge, smooth_phase, varied_coils


def test_coil_maps_have_unit_norm_everywhere():
    maps = coil_maps(5, (15, 18), seed=1)
    torch.testing.assert_close(torch.linalg.vector_norm(maps, dim=0), torch.ones(15, 18))


def test_coils_see_different_parts_of_the_image():
    maps = coil_maps(4, (32, 32), seed=1).abs()
    peaks = {tuple(np.unravel_index(int(coil.argmax()), coil.shape)) for coil in maps}
    assert len(peaks) == 4
    assert all(coil.max() > 2 * coil.min() for coil in maps)


def test_the_phase_is_smooth_and_changes_no_magnitude():
    phase = smooth_phase((64, 48), seed=2)
    torch.testing.assert_close(phase.abs(), torch.ones(64, 48))
    steps = (phase[1:] / phase[:-1]).angle().abs().max(), (phase[:, 1:] / phase[:, :-1]).angle().abs().max()
    assert 0 < max(steps) < 0.7
    assert phase.angle().abs().max() > 0.5


def test_noise_has_the_stated_deviation_in_both_parts():
    noise = complex_noise((4, 64, 64), 0.5, seed=3)
    assert abs(float(noise.real.std()) - 0.5) < 0.02
    assert abs(float(noise.imag.std()) - 0.5) < 0.02
    assert abs(float((noise.real * noise.imag).mean())) < 0.02


def test_the_same_seed_gives_the_same_draws():
    for make in (
        lambda seed: coil_maps(3, (9, 8), seed=seed),
        lambda seed: smooth_phase((9, 8), seed=seed),
        lambda seed: complex_noise((9, 8), 1.0, seed=seed),
    ):
        assert torch.equal(make(1), make(1))
        assert not torch.equal(make(1), make(2))


def test_varied_coils_differ_in_strength_and_repeat():
    maps = varied_coils(6, (20, 24), seed=4)
    assert maps.shape == (6, 20, 24)
    assert torch.equal(maps, varied_coils(6, (20, 24), seed=4))
    assert all(coil.max() > 1.5 * coil.min() for coil in maps.abs())


def test_varied_coils_are_the_same_field_on_every_grid():
    coarse, fine = varied_coils(3, (33, 33), seed=2), varied_coils(3, (65, 65), seed=2)
    torch.testing.assert_close(fine[:, ::2, ::2], coarse, atol=1e-5, rtol=1e-5)


def test_a_plane_stays_a_plane_when_it_is_enlarged():
    plane = torch.linspace(-1, 1, 9)[:, None] + torch.linspace(0, 3, 7)
    expected = torch.linspace(-1, 1, 33)[:, None] + torch.linspace(0, 3, 25)
    torch.testing.assert_close(enlarge(plane, (33, 25))[4:-4, 4:-4], expected[4:-4, 4:-4], atol=1e-5, rtol=0)
