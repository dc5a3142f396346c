"""The strength is chosen by what is held out and follows the noise; two other programs agree."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from somamba.data.simulation.scanner import varied_coils
from somamba.errors import ConfigError
from somamba.evaluation.metrics import score
from somamba.models.classical.l1_wavelet import L1Wavelet, L1WaveletConfig
from somamba.models.zoo import build
from somamba.physics.coils.maps import combine
from somamba.physics.encoding import encoding
from somamba.physics.fourier import ifft2c
from somamba.physics.masks import random_columns
from somamba.physics.scale import zero_filled_scale


def scan(noise: float, size: int = 64):
    """A head of layers and blocks, seen by six coils, every other column left out; and the image."""
    y, x = torch.meshgrid(*(torch.linspace(-1, 1, size) for _ in range(2)), indexing="ij")
    radius = (y / 0.9).square().add((x / 0.75).square()).sqrt()
    image = 0.4 * (radius < 0.85) + 0.5 * ((radius > 0.9) & (radius < 1)) + 0.3 * ((y.abs() < 0.3) & (x.abs() < 0.2))
    maps = varied_coils(6, (size, size), seed=1)[None]
    maps = maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True)
    A = encoding(random_columns(size, 2.5, seed=1, center_fraction=0.15).tensor(), maps)
    truth = image.to(torch.complex64)[None, None]
    draw = torch.Generator().manual_seed(0)
    measured = A(truth)
    measured = measured + noise * torch.randn(measured.shape, dtype=torch.complex64, generator=draw) * (measured != 0)
    return measured, A, truth


def read_bart(folder: Path, name: str) -> torch.Tensor:
    """An array of BART as (batch, coils, y, x)."""
    lengths = [int(n) for n in (folder / f"{name}.hdr").read_text().splitlines()[1].split()][:4]
    values = np.fromfile(folder / f"{name}.cfl", np.complex64).reshape(lengths, order="F")
    return torch.from_numpy(np.ascontiguousarray(values.transpose(2, 3, 0, 1)))


def error(image, truth):
    return float((image - truth).norm() / truth.norm())


def test_the_chosen_strength_is_nearly_the_best_one():
    y, A, truth = scan(noise=0.03)
    errors = {s: error(L1Wavelet(L1WaveletConfig(strengths=(s,)))(y, A), truth) for s in L1WaveletConfig().strengths}
    assert error(L1Wavelet()(y, A), truth) < 1.1 * min(errors.values())
    assert max(errors.values()) > 1.2 * min(errors.values())


def test_more_noise_asks_for_more_strength():
    quiet, loud = (float(L1Wavelet().chosen(*scan(noise)[:2])) for noise in (0.002, 0.1))
    assert quiet < loud


def test_it_is_better_than_least_squares():
    y, A, truth = scan(noise=0.03)
    assert error(L1Wavelet()(y, A), truth) < 0.8 * error(build("cg_sense")(y, A), truth)


def test_it_repeats_and_has_nothing_to_learn():
    y, A, _ = scan(noise=0.03)
    assert torch.equal(L1Wavelet()(y, A), L1Wavelet()(y, A))
    assert not list(build("l1_wavelet").parameters())


def test_it_agrees_with_sigpy():
    app = pytest.importorskip("sigpy.mri.app")
    y, A, truth = scan(noise=0.01)
    mask, maps = A.factors[0].mask, A.factors[-1].maps
    weights = mask[0].expand(1, *y.shape[2:]).numpy().astype("float32")
    theirs = app.L1WaveletRecon(y[0].numpy(), maps[0].numpy(), lamda=0.005, weights=weights, show_pbar=False).run()
    ours = L1Wavelet(L1WaveletConfig(strengths=(0.005,), iterations=100))(y, A)
    # Its edges are padded, ours are periodic and its blocks stay where they are.
    assert error(ours, torch.from_numpy(theirs)[None, None]) < 0.1
    assert error(ours, truth) < 1.02 * error(torch.from_numpy(theirs)[None, None], truth)


def test_it_agrees_with_bart(shared_data):
    """Against ``bart pics -S -R W:3:0:0.005 -i 30 kspu maps pics_l1w`` (BART 0.8.00)."""
    bart = partial(read_bart, shared_data / "bart")
    A, expected = encoding(bart("mask").real, bart("maps")), bart("pics_l1w")
    truth = combine(ifft2c(bart("ksp")), bart("maps"))
    scale = zero_filled_scale(bart("kspu"), A)
    found = L1Wavelet()(bart("kspu") / scale, A) * scale
    ours, theirs = (score(image[0, 0].abs(), truth[0, 0].abs().numpy()) for image in (found, expected))
    assert ours.psnr > theirs.psnr - 0.2
    assert ours.ssim > theirs.ssim - 0.005


@pytest.mark.parametrize("wrong", [{"strengths": ()}, {"strengths": (0.1, 0.2)}, {"strengths": (0.1, 0.0)}])
def test_what_cannot_be_meant_is_refused(wrong):
    with pytest.raises(ConfigError):
        L1WaveletConfig(**wrong)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_without_gaps_all_samples_make_the_image_unchanged(scale, rng):
    """The two outermost lines cannot say how sparse the image is; maps need not have unit norm."""
    _, A, truth = scan(noise=0)
    complete = encoding(torch.ones(1, 1, 1, truth.shape[-1], dtype=torch.bool), scale * A.factors[-1].maps)
    noise = 0.03 * torch.randn(1, 6, *truth.shape[2:], dtype=torch.complex64, generator=rng)
    y = complete(truth) + noise
    method = L1Wavelet()
    torch.testing.assert_close(method(y, complete), combine(ifft2c(y), scale * A.factors[-1].maps))
    assert not method.used.any()
    alone = encoding(torch.ones(1, 1, *truth.shape[2:], dtype=torch.bool))
    torch.testing.assert_close(L1Wavelet()(y[:, :1], alone), ifft2c(y[:, :1]))


def test_of_a_batch_only_the_slices_without_gaps_stay_as_they_are():
    y, A, truth = scan(noise=0.03)
    maps = A.factors[-1].maps
    whole = encoding(torch.ones(1, 1, 1, y.shape[-1], dtype=torch.bool), maps)
    masks = torch.cat([A.factors[0].mask, whole.factors[0].mask])
    both, method = torch.cat([y, whole(truth)]), L1Wavelet()
    images = method(both, encoding(masks, maps.expand(2, -1, -1, -1)))
    assert (method.used.flatten() > 0).tolist() == [True, False]
    torch.testing.assert_close(images[1:], L1Wavelet()(whole(truth), whole))
    torch.testing.assert_close(images[:1], L1Wavelet()(y, A))


def test_the_strength_that_was_used_can_be_read():
    y, A, _ = scan(noise=0.03)
    method = L1Wavelet()
    method(y, A)
    assert torch.equal(method.used, method.chosen(y, A))
    method = L1Wavelet(L1WaveletConfig(strengths=(0.005,), iterations=1))
    method(y, A)
    assert method.used.item() == pytest.approx(0.005)
