"""Arrays in, images out: NumPy or torch, one slice or several, and errors that teach."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import somamba
from inference.checkpoints import save_tiny
from inference.raw.made import coil_kspace, columns, noise, picture
from somamba.data.simulation.scanner import coil_maps
from somamba.errors import InputError

KSPACE = columns(coil_kspace(3), 2, 8)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return somamba.load(str(save_tiny(tmp_path_factory.mktemp("weights") / "x")), device="cpu")


@pytest.fixture(scope="module")
def plain():
    return somamba.load("zero_filled", device="cpu")


def test_numpy_gives_numpy_and_torch_gives_torch(model):
    image = model.reconstruct(KSPACE)
    assert (image.shape, image.dtype) == ((32, 24), np.complex64)
    assert np.array_equal(model.reconstruct(torch.from_numpy(KSPACE)).numpy(), image)
    assert "so_mamba" in repr(model)


def test_slices_are_reconstructed_one_by_one_and_empty_ones_are_zero(model):
    images = model.reconstruct(np.stack([KSPACE, 0 * KSPACE, 2 * KSPACE]).astype(np.complex128))
    assert images.shape == (3, 32, 24)
    assert not images[1].any()
    np.testing.assert_array_equal(images[0], model.reconstruct(KSPACE))
    np.testing.assert_allclose(images[2], 2 * images[0], rtol=1e-3, atol=1e-4)


def test_one_coil_needs_no_coil_axis(plain):
    image = plain.reconstruct(coil_kspace(1)[0])
    np.testing.assert_allclose(np.abs(image), picture().numpy(), atol=1e-5)


def test_given_maps_are_used(plain):
    image = plain.reconstruct(coil_kspace(3), maps=coil_maps(3, (32, 24), seed=1))
    np.testing.assert_allclose(image, picture().numpy(), atol=1e-5)


@pytest.mark.parametrize("size", [(32, 24), (31, 25)])
def test_plain_fft_order_is_understood(plain, size):
    image = picture(*size).numpy()
    found = plain.reconstruct(np.fft.fft2(image, norm="ortho"), centred=False)
    np.testing.assert_allclose(found, image, atol=1e-5)


def test_a_mask_says_what_was_acquired(plain):
    full, mask = coil_kspace(1), np.arange(24) % 2 == 0
    expected = plain.reconstruct(np.where(mask, full, 0))
    np.testing.assert_allclose(plain.reconstruct(full, mask=mask), expected, atol=1e-6)
    ordered = np.fft.fft2(picture().numpy(), norm="ortho")
    shifted = plain.reconstruct(ordered, mask=np.fft.ifftshift(mask), centred=False)
    np.testing.assert_allclose(np.abs(shifted), np.abs(expected), atol=1e-5)


@pytest.mark.parametrize(
    ("kspace", "options", "words"),
    [
        (np.abs(KSPACE), {}, "must be complex"),
        (KSPACE[0, 0], {}, r"\(y, x\), \(coils, y, x\) or \(slices, coils, y, x\), got \(24,\)"),
        (KSPACE * np.nan, {}, "must be finite"),
        (KSPACE, {"maps": coil_maps(2, (32, 24), seed=1)}, "Coil maps must be"),
        (KSPACE, {"mask": np.ones(7)}, r"must be \(24,\) or \(32, 24\), got \(7,\)"),
        (KSPACE, {"mask": np.full(24, 2)}, "must hold 0 and 1"),
        (0 * KSPACE, {}, "There is no signal"),
        (columns(coil_kspace(3), 8, 3), {}, r"Slice 0: Coil maps cannot be estimated.*maps="),
    ],
)
def test_what_cannot_be_reconstructed_is_refused_with_advice(plain, kspace, options, words):
    with pytest.raises(InputError, match=words):
        plain.reconstruct(kspace, **options)


def test_weights_for_magnitude_images_refuse_measurements(tmp_path):
    model = somamba.load(str(save_tiny(tmp_path / "x", "magnitude")), device="cpu")
    with pytest.raises(InputError, match=r"protocol 'magnitude'.*force=True"):
        model.reconstruct(KSPACE)
    assert model.reconstruct(KSPACE, force=True).any()


def test_importing_somamba_does_not_import_torch():
    code = "import sys, somamba; assert 'torch' not in sys.modules; somamba.load; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        somamba.laod  # noqa: B018


def test_a_noise_scan_prewhitens_the_coils(plain):
    maps = coil_maps(3, (32, 24), seed=1).numpy()
    kspace, levels = coil_kspace(3), np.array([0.02, 0.02, 0.5])
    samples = levels[:, None] * noise((3, 5000), 1.0)
    bad = kspace + levels[:, None, None] * noise(kspace.shape, 1.0, seed=1)
    error = {}
    for name, options in {"white": {"noise": samples}, "plain": {}}.items():
        clean, noisy = (plain.reconstruct(k, maps=maps, **options) for k in (kspace, bad))
        error[name] = np.linalg.norm(noisy - clean) / np.linalg.norm(clean)
    assert error["white"] < error["plain"] / 5
    for wrong in (samples[:2], samples[None], samples[:, :2], np.zeros_like(samples)):
        with pytest.raises(InputError, match=r"[Nn]oise"):
            plain.reconstruct(kspace, maps=maps, noise=wrong)
