"""PSNR and SSIM are scikit-image's, and no wrong image gets a right number."""

import math

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from somamba.errors import InputError
from somamba.evaluation.metrics import nmse, psnr, score, ssim

METRICS = {"psnr": psnr, "ssim": ssim, "nmse": nmse}
WORSE = {"psnr": np.less, "ssim": np.less, "nmse": np.greater}


def pair(size=(31, 40), noise=0.05):
    """A target in [0, 0.9] and a prediction near it, float32 as networks give them."""
    draw = np.random.default_rng(0)
    target = draw.random(size).astype(np.float32) * np.float32(0.9)
    return (target + noise * draw.standard_normal(size)).astype(np.float32), target


def ssim_by_definition(prediction, target):
    """Wang et al. 2004 with a 7x7 uniform window and sample covariance, written window by window."""
    size, data_range = 7, float(target.max())
    x, y = (sliding_window_view(a.astype(np.float64), (size, size)).reshape(-1, size**2) for a in (target, prediction))
    ux, uy = x.mean(1), y.mean(1)
    vx, vy = x.var(1, ddof=1), y.var(1, ddof=1)
    vxy = ((x - ux[:, None]) * (y - uy[:, None])).sum(1) / (size**2 - 1)
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    return np.mean((2 * ux * uy + c1) * (2 * vxy + c2) / ((ux**2 + uy**2 + c1) * (vx + vy + c2)))


def test_psnr_and_ssim_equal_scikit_image():
    prediction, target = pair()
    double = prediction.astype(np.float64), target.astype(np.float64)
    peak = double[1].max()
    assert abs(psnr(prediction, target) - peak_signal_noise_ratio(*double[::-1], data_range=peak)) < 1e-7
    assert abs(ssim(prediction, target) - structural_similarity(*double, data_range=peak)) < 1e-7


def test_every_metric_equals_its_formula():
    prediction, target = pair(size=(12, 15))
    error = prediction.astype(np.float64) - target.astype(np.float64)
    assert abs(ssim(prediction, target) - ssim_by_definition(prediction, target)) < 1e-12
    assert psnr(prediction, target) == pytest.approx(20 * np.log10(target.max() / np.sqrt(np.mean(error**2))), abs=1e-5)
    assert nmse(prediction, target) == pytest.approx(np.sum(error**2) / np.sum(target.astype(np.float64) ** 2))


def test_values_fixed_by_another_run_of_scikit_image():
    """From ``peak_signal_noise_ratio`` and ``structural_similarity`` of scikit-image 0.26.0 on the images below."""
    y, x = np.mgrid[:16, :20]
    target = np.sin(x / 3) ** 2 * np.cos(y / 5) ** 2
    prediction = np.roll(target, 1, axis=1)
    assert psnr(prediction, target) == pytest.approx(17.086086542222546, abs=1e-7)
    assert ssim(prediction, target) == pytest.approx(0.8735191983981306, abs=1e-7)


def test_torch_and_numpy_images_score_alike():
    prediction, target = pair()
    tensors = torch.from_numpy(prediction).requires_grad_(), torch.from_numpy(target)
    assert score(*tensors) == score(prediction, target)


def test_all_scores_are_the_single_ones():
    images = pair()
    assert tuple(score(*images)) == (psnr(*images), ssim(*images), nmse(*images))


def test_equal_images_are_perfect():
    _, target = pair()
    assert score(target, target) == (math.inf, 1.0, 0.0)


MUTANTS = {
    "zero": np.zeros_like,
    "scaled by 5 %": lambda image: image * 1.05,
    "offset": lambda image: image + 0.02,
    "shifted by one pixel": lambda image: np.roll(image, 1, axis=1),
    "flipped": lambda image: image[::-1],
    "lower half missing": lambda image: np.where(np.arange(len(image))[:, None] < len(image) // 2, image, 0),
    "one pixel": lambda image: np.where(np.arange(image.size).reshape(image.shape) == 99, 1.0, image),
    "negated": np.negative,
    "constant": lambda image: np.full_like(image, image.mean()),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_image_scores_worse(metric, mutant):
    prediction, target = pair(noise=0.001)
    wrong = MUTANTS[mutant](prediction)
    assert WORSE[metric](METRICS[metric](wrong, target), METRICS[metric](prediction, target))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda p, t: (np.where(p == p[3, 4], np.nan, p), t), "1 values that are not finite"),
        (lambda p, t: (np.where(p == p[3, 4], -np.inf, p), t), "not finite"),
        (lambda p, t: (p, np.where(t == t[3, 4], np.nan, t)), "The target has 1 values"),
        (lambda p, t: (p, t * 0), "no positive value"),
        (lambda p, t: (p[:-1], t), "30 x 40 pixels and the target 31 x 40"),
        (lambda p, t: (p[None], t[None]), "one slice"),
        (lambda p, t: (p.astype(complex), t), "take the magnitude"),
    ],
)
def test_images_without_a_metric_are_refused(metric, spoil, complaint):
    with pytest.raises(InputError, match=complaint):
        METRICS[metric](*spoil(*pair()))


def test_a_slice_smaller_than_the_window_has_no_ssim():
    with pytest.raises(InputError, match="at least 7 x 7"):
        ssim(*pair(size=(6, 30)))
