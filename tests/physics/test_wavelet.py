"""The transform is Daubechies' own, orthonormal, and shrinking it is a proximal step."""

import pytest
import torch

from promises import complex_normal
from somamba.physics.wavelet import LEVELS, LOW_PASS, _analysis, padded_size, shrink


@pytest.mark.parametrize("size", [8, 16, 28, 112])
def test_the_matrix_of_a_level_is_orthogonal(size):
    matrix = _analysis(size, torch.float64, torch.device("cpu"))
    torch.testing.assert_close(matrix @ matrix.mT, torch.eye(size, dtype=torch.float64), atol=1e-10, rtol=0)


def test_the_filter_is_pywavelets_db4_and_so_are_the_coefficients(rng):
    pywt = pytest.importorskip("pywt")
    assert list(LOW_PASS) == pytest.approx(pywt.Wavelet("db4").rec_lo, abs=1e-12)
    signal = torch.randn(32, dtype=torch.float64, generator=rng)
    coarse, detail = (torch.from_numpy(part) for part in pywt.dwt(signal.numpy(), "db4", mode="periodization"))
    matrix = _analysis(32, torch.float64, torch.device("cpu"))
    # Its first coefficient begins at another sample; from the right one on, the values are the same.
    shifted = [matrix @ signal.roll(shift) for shift in range(2)]
    assert any(
        torch.allclose(ours[:16].sort().values, coarse.sort().values, atol=1e-8)
        and torch.allclose(ours[16:].abs().sort().values, detail.abs().sort().values, atol=1e-8)
        for ours in shifted
    )


@pytest.mark.parametrize("shape", [(2, 1, 32, 48), (1, 3, 37, 50)])
def test_without_a_threshold_nothing_changes(shape, rng):
    images = complex_normal(shape, rng)
    torch.testing.assert_close(shrink(images, 0.0, shift=(3, 7)), images)


def test_no_threshold_takes_the_brightness_of_an_image():
    flat = torch.ones(1, 1, 32, 48, dtype=torch.complex128)  # Details of a constant are zero: all of it is coarse.
    torch.testing.assert_close(shrink(flat, 100.0), flat)


def test_smooth_waves_survive_and_noise_is_removed(rng):
    y, x = torch.meshgrid(*(torch.linspace(0, 6.28, 64, dtype=torch.float64) for _ in range(2)), indexing="ij")
    clean = (torch.sin(y) * torch.cos(x) + 0j)[None, None]
    noisy = clean + 0.1 * complex_normal((1, 1, 64, 64), rng)
    shrunk = shrink(noisy, 0.3)
    assert (shrunk - clean).norm() < 0.5 * (noisy - clean).norm()


def test_shrinking_is_the_proximal_step_of_the_norm(rng):
    # Orthonormal, so no image is a better compromise; any step away from it raises the cost.
    image = complex_normal((1, 1, 32, 32), rng)
    best = shrink(image, 0.5)

    def cost(other: torch.Tensor) -> float:
        return float((other - image).abs().square().sum() / 2 + 0.5 * _norm(other))

    for _ in range(5):
        assert cost(best) < cost(best + 0.01 * complex_normal(best.shape, rng))


def _norm(image: torch.Tensor) -> torch.Tensor:
    """The sum of the magnitudes of all details."""
    total, part = torch.zeros(()), image[0, 0]
    for _ in range(LEVELS):
        rows, columns = (_analysis(size, torch.float64, part.device).to(part.dtype) for size in part.shape)
        bands = rows @ part @ columns.mT
        part = bands[: bands.shape[0] // 2, : bands.shape[1] // 2]
        total = total + bands.abs().sum() - part.abs().sum()
    return total


def test_thresholds_may_differ_between_slices(rng):
    images = complex_normal((2, 1, 32, 32), rng)
    both = shrink(images, torch.tensor([0.0, 0.7], dtype=torch.float64)[:, None, None, None])
    torch.testing.assert_close(both[:1], images[:1])
    torch.testing.assert_close(both[1:], shrink(images[1:], 0.7))


def test_sides_are_padded_to_what_can_be_halved():
    assert [padded_size(n) for n in (16, 17, 224, 230)] == [16, 32, 224, 240]
