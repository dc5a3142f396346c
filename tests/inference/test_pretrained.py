"""Arrays in, images out: NumPy or torch, one slice or several, and errors that teach."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import somamba
from inference.checkpoints import save_tiny
from raw.made import coil_kspace, columns, noise, picture
from somamba.data.simulation.scanner import coil_maps
from somamba.errors import ConfigError, InputError
from somamba.inference.pretrained import Pretrained
from somamba.inference.reconstruct import reconstruct
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import open_weights
from somamba.inference.writers.writing import read_provenance, write
from somamba.physics.coils.maps import espirit
from somamba.physics.encoding import encoding
from somamba.physics.scale import zero_filled_scale
from somamba.raw.opening import open_raw_scan

SAMPLE = Path(somamba.__file__).parent / "samples" / "brain_13coil.npz"
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
        (KSPACE.tolist(), {}, "must be a NumPy array or a torch tensor, got list"),
        (None, {}, "got NoneType"),
        (torch.from_numpy(KSPACE).to_sparse(), {}, "cannot be read as a NumPy array"),
        (KSPACE.astype(object), {}, "must hold numbers, got an array of type object"),
        (np.array("kspace"), {}, "must hold numbers"),
        (KSPACE[0, 0], {}, r"\(24,\) has no slice in it"),
        (KSPACE[:0], {}, "has no slice in it"),
        (KSPACE[None, None], {}, "2 to 4 axes"),
        (KSPACE * np.nan, {}, "holds NaN"),
        (KSPACE.astype(np.complex128) * 1e300, {}, "too large for single precision"),
        (KSPACE, {"maps": coil_maps(2, (32, 24), seed=1)}, r"coil maps .* do not fit"),
        (KSPACE, {"maps": [1, 2]}, "maps must be a NumPy array"),
        (KSPACE, {"mask": np.ones(7)}, r"must be \(24,\) or \(32, 24\), got \(7,\)"),
        (KSPACE, {"mask": np.full(24, 2)}, "hold 0 and 1"),
        (KSPACE, {"mask": np.zeros(24)}, "keeps no sample"),
        (KSPACE, {"mask": "equispaced"}, "mask must be a NumPy array"),
        (0 * KSPACE, {}, "all samples are zero"),
        (columns(coil_kspace(3), 8, 3), {}, r"slice 0: Coil maps cannot be estimated.*maps="),
        (noise((3, 32, 24), 1.0), {}, "does not look like k-space"),
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
        clean, noisy = (plain.reconstruct(k, maps=maps, centred=True, **options) for k in (kspace, bad))
        error[name] = np.linalg.norm(noisy - clean) / np.linalg.norm(clean)
    assert error["white"] < error["plain"] / 5
    for wrong in (samples[:2], samples[None], samples[:, :2], np.zeros_like(samples)):
        with pytest.raises(InputError, match=r"[Nn]oise"):
            plain.reconstruct(kspace, maps=maps, noise=wrong)


def test_big_endian_arrays_are_read(plain):
    np.testing.assert_array_equal(plain.reconstruct(KSPACE.astype(">c8")), plain.reconstruct(KSPACE))


def test_real_and_imaginary_parts_in_a_last_axis_are_joined(plain):
    pairs = np.stack([KSPACE.real, KSPACE.imag], axis=-1)
    np.testing.assert_array_equal(plain.reconstruct(pairs), plain.reconstruct(KSPACE))


@pytest.mark.parametrize("slices", [None, 2])
def test_coils_may_come_last(plain, slices):
    usual = KSPACE if slices is None else np.stack([KSPACE, 2 * KSPACE])
    last = np.moveaxis(usual, -3, -1)
    found, expected = plain.reconstruct(last), plain.reconstruct(usual)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert "y, x, coils)" in found.reconstruction.notes[0]


def test_axes_that_cannot_be_told_are_asked_for(plain):
    turned = np.stack([KSPACE, 2 * KSPACE]).transpose(2, 3, 0, 1)
    with pytest.raises(InputError, match=r"which of the others counts slices.*axes="):
        plain.reconstruct(turned)
    images = plain.reconstruct(turned, axes=("y", "x", "slices", "coils"))
    np.testing.assert_allclose(images[1], plain.reconstruct(2 * KSPACE), atol=1e-5)
    for wrong in (("z", "y", "x"), "yxc", ("y", "x", "y"), ("coils", "slices"), 5, (1, 2, 3)):
        with pytest.raises(ConfigError, match="axes"):
            plain.reconstruct(KSPACE, axes=wrong)
    with pytest.raises(InputError, match="3 axes"):
        plain.reconstruct(KSPACE, axes=("y", "x"))


@pytest.mark.parametrize("like", [np.asarray, torch.from_numpy])
def test_the_result_says_how_the_array_was_understood(plain, like, tmp_path):
    ordered = np.fft.ifftshift(KSPACE, axes=(-2, -1))
    image = plain.reconstruct(like(ordered))
    np.testing.assert_allclose(abs(np.asarray(image)), abs(plain.reconstruct(KSPACE)), atol=1e-5)
    assert any("zero frequency was the first sample" in note for note in image.reconstruction.notes)
    write(image.reconstruction, tmp_path / "image.npy")
    assert read_provenance(tmp_path / "image.npy")["format"] == "array in memory"


def test_what_is_computed_from_the_result_is_a_plain_array(plain):
    image = plain.reconstruct(KSPACE)
    assert np.abs(image).reconstruction is None
    assert (image + 1).shape == (32, 24)


@pytest.mark.parametrize("factor", [2e-25, 1e30])
def test_samples_far_from_one_are_scaled_first(model, factor):
    """The squares of such samples are zero or infinite in single precision."""
    image = model.reconstruct(KSPACE)
    far = model.reconstruct((KSPACE.astype(np.complex128) * factor).astype(np.complex64))
    np.testing.assert_allclose(far / np.float32(factor), image, atol=1e-3 * np.abs(image).max())


def test_the_callers_array_is_left_alone(plain):
    before = coil_kspace(1)
    plain.reconstruct(before, mask=np.arange(24) % 2 == 0)
    np.testing.assert_array_equal(before, coil_kspace(1))


def test_the_real_brain_of_the_readme_is_understood(shared_data):
    """Its zero frequency is the first sample, and nothing but the energy tells."""
    kspace = np.load(shared_data / "raw_kspace" / "brain_13coil_flip7.npy")
    model = somamba.load("cg_sense", device="cpu")
    image = np.abs(model.reconstruct(kspace))
    root = np.linalg.norm(np.fft.fftshift(np.fft.ifft2(kspace, norm="ortho"), axes=(-2, -1)), axis=0)
    # Turned by half its size or not, the picture is the same object.
    assert max(np.corrcoef(image.ravel(), np.roll(root, shift, (0, 1)).ravel())[0, 1] for shift in (0, 112)) > 0.98
    last = np.abs(model.reconstruct(np.moveaxis(kspace, 0, -1)))
    np.testing.assert_allclose(last, image, atol=1e-4 * image.max())


def test_a_file_and_the_same_array_give_the_same_bits(model, tmp_path):
    np.save(tmp_path / "kspace.npy", np.moveaxis(KSPACE, 0, -1))
    from_file = reconstruct(open_raw_scan(tmp_path / "kspace.npy"), model.trained)
    from_memory = model.reconstruct(np.moveaxis(KSPACE, 0, -1))
    np.testing.assert_array_equal(from_file.images[0], from_memory)
    assert from_file.notes == from_memory.reconstruction.notes


def test_the_bundled_weights_give_the_bits_of_their_formula():
    """Scale, network, scale back: without compression and the last step nothing else happens to whole columns."""
    scan, trained = open_raw_scan(SAMPLE), open_weights()
    kspace = torch.where(Undersampling(acceleration=4).pattern((224, 224), coils=13).pattern, scan.kspace(0), 0)
    maps = espirit(kspace[None], kernel=6)
    A = encoding((kspace != 0).any(dim=0).any(dim=0)[None, None, None], maps)
    scale = zero_filled_scale(kspace[None], A)
    with torch.no_grad():
        expected = trained.model(kspace[None] / scale, A)[0, 0] * scale
    expected = torch.where((maps[0] != 0).any(dim=0), expected, 0)
    plain = {"axes": ("coils", "y", "x"), "centred": True, "coils": 13, "refine": False}
    assert torch.equal(Pretrained(trained, "cpu").reconstruct(kspace, **plain), expected)


def test_maps_that_come_with_a_file_are_used_for_sense_weights(model, tmp_path):
    maps = coil_maps(3, (32, 24), seed=1).numpy()
    np.savez(tmp_path / "a.npz", kspace=KSPACE, sens_maps=maps)
    np.savez(tmp_path / "b.npz", kspace=np.moveaxis(KSPACE, 0, -1), maps=np.moveaxis(maps, 0, -1))
    expected = model.reconstruct(KSPACE, maps=maps)
    assert np.abs(expected - model.reconstruct(KSPACE)).max() > 1e-3
    for name in ("a.npz", "b.npz"):
        made = reconstruct(open_raw_scan(tmp_path / name), model.trained)
        assert made.provenance["coil_maps"] == "given"
        np.testing.assert_allclose(made.images[0], expected, atol=1e-4)
