"""How close a slice is to its target: PSNR, SSIM and NMSE, as scikit-image defines them, in float64.

The data range is the largest value of the target, as in the lineage of the paper. SSIM is scikit-image's default: a
uniform window of 7 x 7 pixels and the sample covariance. Nothing here returns a number for images that have none: a
value that is not finite, an empty target or two shapes that differ are refused.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np

# The functions are named where they are called: scikit-image then loads them, and 60 MB of SciPy, at the first call.
import skimage.metrics
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError

Pixels: TypeAlias = NDArray[np.float64]
WINDOW = 7  # scikit-image's default


class Scores(NamedTuple):
    """The metrics of one slice, or their mean over the slices of a case."""

    psnr: float
    """Decibels; infinite if prediction and target are equal."""
    ssim: float
    """Structural similarity: at most 1, reached by equal images."""
    nmse: float
    """Squared error over the squared norm of the target; 0 for equal images."""


def psnr(prediction: object, target: object) -> float:
    """Peak signal-to-noise ratio in decibels; the peak is the largest value of the target."""
    return _psnr(*_pair(prediction, target))


def ssim(prediction: object, target: object) -> float:
    """Structural similarity, mean over the slice."""
    return _ssim(*_pair(prediction, target))


def nmse(prediction: object, target: object) -> float:
    """Squared error over the squared norm of the target."""
    return _nmse(*_pair(prediction, target))


def score(prediction: object, target: object) -> Scores:
    """All metrics of one slice; the images are checked once."""
    pair = _pair(prediction, target)
    return Scores(_psnr(*pair), _ssim(*pair), _nmse(*pair))


def _psnr(prediction: Pixels, target: Pixels) -> float:
    # Not skimage's own psnr: for equal images it divides by zero, with a warning, although infinity is meant.
    error = float(skimage.metrics.mean_squared_error(target, prediction))
    return math.inf if error == 0 else 10 * math.log10(float(target.max()) ** 2 / error)


def _ssim(prediction: Pixels, target: Pixels) -> float:
    if min(target.shape) < WINDOW:
        raise InputError(f"SSIM needs at least {WINDOW} x {WINDOW} pixels, the slice has {_size(target)}.")
    peak = float(target.max())
    return float(skimage.metrics.structural_similarity(target, prediction, win_size=WINDOW, data_range=peak))  # type: ignore[no-untyped-call]


def _nmse(prediction: Pixels, target: Pixels) -> float:
    return float(np.sum((prediction - target) ** 2) / np.sum(target**2))


def _pair(prediction: object, target: object) -> tuple[Pixels, Pixels]:
    images = _pixels(prediction, "prediction"), _pixels(target, "target")
    if images[0].shape != images[1].shape:
        raise InputError(f"The prediction is {_size(images[0])} pixels and the target {_size(images[1])}; crop or pad.")
    if not images[1].max() > 0:
        raise InputError("The target has no positive value, so no metric is defined; leave the slice out.")
    return images


def _pixels(image: object, name: str) -> Pixels:
    array = image.detach().cpu().numpy() if isinstance(image, Tensor) else np.asarray(image)
    if array.dtype.kind not in "fiub":
        raise InputError(f"The {name} must hold real numbers, got {array.dtype}; take the magnitude first.")
    if array.ndim != 2:
        raise InputError(f"The {name} must be one slice (y, x), got shape {array.shape}; score slice by slice.")
    if not np.isfinite(array).all():
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise InputError(f"The {name} has {bad} values that are not finite, of {array.size}; no metric is defined.")
    return array.astype(np.float64)


def _size(image: Pixels) -> str:
    return " x ".join(map(str, image.shape))
