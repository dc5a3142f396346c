"""Coil maps agree with two other programs, and explain the coil images of a real scan."""

import pytest
import torch
from sigpy.mri.app import EspiritCalib

from promises import complex_normal
from somamba.errors import InputError
from somamba.physics.coils.maps import (
    calibration_region,
    combine,
    espirit,
    espirit_sets,
    root_sum_of_squares,
    uncropped_espirit,
)
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.masks import equispaced, golden_radial


def smooth_coils(size: tuple[int, int], n_coils: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """An object in the middle of the grid, and maps of unit norm that vary slowly over it."""
    y, x = torch.meshgrid(*(torch.linspace(-1, 1, n, dtype=torch.float64) for n in size), indexing="ij")
    turns = torch.arange(n_coils, dtype=torch.float64) * 2 * torch.pi / n_coils
    coils = [torch.exp(0.8 * (y * torch.sin(t) + x * torch.cos(t)) + 1j * (t + y * torch.cos(t))) for t in turns]
    maps = torch.stack(coils)[None]
    maps = maps / torch.linalg.vector_norm(maps, dim=1, keepdim=True)
    disc = (1 - (y / 0.7) ** 2 - (x / 0.6) ** 2).clamp(min=0).sqrt() * torch.exp(0.5j * x)
    return disc[None, None], maps


def agreement(maps: torch.Tensor, others: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    """The correlation of two sets of unit maps at each pixel, whatever their phase."""
    return (maps.conj() * others).sum(dim=1, keepdim=True).abs()[where]


def unexplained(images: torch.Tensor, maps: torch.Tensor, where: torch.Tensor) -> float:
    """The part of the coil images that no single image times the maps can reproduce."""
    rest = images - maps * combine(images, maps)
    return (root_sum_of_squares(rest)[where].norm() / root_sum_of_squares(images)[where].norm()).item()


def bright(images: torch.Tensor) -> torch.Tensor:
    """Where there is an object: more than a tenth of the brightest pixel."""
    magnitude = root_sum_of_squares(images)
    return magnitude > 0.1 * magnitude.max()


@pytest.mark.parametrize("size", [(48, 48), (45, 52)])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_known_maps_are_found_again(size, dtype):
    image, truth = smooth_coils(size)
    images = (truth * image).to(dtype)
    # Without noise the threshold may be low; the maps tend to the true ones as it falls.
    maps = espirit(fft2c(images), threshold=0.001)
    assert maps.dtype == dtype
    assert agreement(maps, truth.to(dtype), bright(images)).min() > 0.99999
    assert unexplained(images, maps, bright(images)) < 3e-4


def test_maps_have_unit_norm_or_are_zero():
    image, truth = smooth_coils((40, 40))
    norm = torch.linalg.vector_norm(espirit(fft2c(truth * image)), dim=1)
    inside = norm > 0
    torch.testing.assert_close(norm[inside], torch.ones_like(norm[inside]))
    assert inside.any()
    assert not inside.all()


def test_eigenvalues_are_one_in_the_object_and_never_above():
    """The patches are projected, and a projection lengthens nothing; the crop relies on this scale."""
    image, truth = smooth_coils((40, 40))
    images = truth * image
    _, eigenvalues = uncropped_espirit(fft2c(images))
    assert eigenvalues.max() < 1 + 1e-6
    assert eigenvalues[bright(images)].min() > 0.9


def test_slices_of_a_batch_do_not_meet():
    image, truth = smooth_coils((32, 32))
    one, other = fft2c(truth * image), fft2c(truth.flip(1) * image.flip(-1))
    together = espirit(torch.cat((one, other)))
    torch.testing.assert_close(together, torch.cat((espirit(one), espirit(other))))


def test_the_phase_is_that_of_the_strongest_virtual_coil():
    image, truth = smooth_coils((40, 40))
    kspace = fft2c(truth * image)
    maps = espirit(kspace)
    samples = kspace[0, :, 8:32, 8:32].flatten(start_dim=1)
    virtual = torch.linalg.eigh(samples @ samples.mH).eigenvectors[:, -1]
    signal = torch.einsum("c,bcyx->byx", virtual.conj(), maps)[maps[:, 0].abs() > 0]
    torch.testing.assert_close(signal / signal[0] * signal[0].abs(), signal.abs().to(signal.dtype))


def test_a_global_factor_of_the_data_does_not_change_the_maps():
    image, truth = smooth_coils((32, 32))
    kspace = fft2c(truth * image)
    torch.testing.assert_close(espirit(kspace * 1e-7), espirit(kspace))


def test_blocks_of_rows_do_not_show(monkeypatch):
    image, truth = smooth_coils((30, 32))
    kspace = fft2c(truth * image)
    whole = espirit(kspace)
    monkeypatch.setattr("somamba.physics.coils.eigenvectors.BLOCK_ENTRIES", 1)
    torch.testing.assert_close(espirit(kspace), whole)


def test_maps_agree_with_bart(bart):
    """Against ``bart ecalib -m1 -r 24 ksp maps`` (BART 0.8.00) on ``bart phantom -x 128 -k -s 8``."""
    kspace, reference = bart("ksp"), bart("maps")
    maps = espirit(kspace)
    object_, support = bright(ifft2c(kspace)), reference.abs().sum(dim=1, keepdim=True) > 0
    assert ((maps.abs().sum(dim=1, keepdim=True) > 0) != support).sum() <= 5
    match = agreement(maps, reference, object_ & support)
    assert match.mean() > 0.999
    assert (match > 0.999).double().mean() > 0.99
    assert unexplained(ifft2c(kspace), maps, object_) <= unexplained(ifft2c(kspace), reference, object_)


def test_maps_agree_with_sigpy_on_a_real_scan(brain):
    reference = EspiritCalib(brain[0].numpy(), thresh=0.001**0.5, crop=0.8, max_iter=30, show_pbar=False).run()
    maps = espirit(brain)
    match = agreement(maps, torch.from_numpy(reference)[None], bright(ifft2c(brain)))
    assert match.min() > 0.99
    assert match.mean() > 0.9999


def neighbours_agree(images: torch.Tensor) -> float:
    """The correlation of each pixel with the next one in its row: near 1 for anatomy, near 0 for noise."""
    return ((images.conj() * images.roll(1, dims=-1)).sum().abs() / images.abs().square().sum()).item()


def test_maps_explain_the_coil_images_of_a_real_scan_down_to_its_noise(brain):
    images, maps = ifft2c(brain), espirit(brain)
    assert unexplained(images, maps, bright(images)) < 0.08
    rest = torch.where(bright(images), images - maps * combine(images, maps), 0)
    assert neighbours_agree(images) > 0.8
    assert neighbours_agree(rest) < 0.05


def test_a_head_that_fits_has_one_set_of_maps_and_one_that_folds_over_has_two(brain):
    """Every other column of k-space is half the field of view, and the head folds onto itself."""
    kspace = brain[0]
    one, two = espirit_sets(kspace), espirit_sets(kspace[:, :, ::2])
    assert len(one) == 1
    torch.testing.assert_close(one[0], espirit(brain)[0])
    assert len(two) == 2
    products = (two[0].conj() * two[1]).sum(dim=0).abs()
    assert products.max() < 1e-3
    images = ifft2c(kspace[:, :, ::2])
    merged = (two.conj() * images).sum(dim=1)
    explained = (two * merged[:, None]).sum(dim=0)
    first = two[0] * merged[0]
    assert (images - explained).norm() < 0.6 * (images - first).norm()


def test_an_undersampled_scan_with_a_full_centre_is_enough(brain):
    full = espirit(brain)
    mask = equispaced(112, 4, center_fraction=0.16).tensor()
    few = espirit(torch.where(mask, brain, 0))
    assert agreement(few, full, bright(ifft2c(brain))).mean() > 0.995


def test_the_calibration_region_of_a_column_mask_is_its_centre(rng):
    kspace = complex_normal((2, 3, 20, 64), rng)
    mask = equispaced(64, 4)
    region = calibration_region(torch.where(mask.tensor(), kspace, 0))
    assert region.rows == slice(0, 20)
    assert region.columns.stop - region.columns.start == mask.calibration
    assert region.columns.start <= 32 < region.columns.stop


def test_the_calibration_region_of_a_radial_mask_is_fully_acquired(rng):
    kspace = complex_normal((1, 2, 65, 64), rng)
    mask = golden_radial((65, 64), 32)
    rows, columns = calibration_region(torch.where(mask.tensor(), kspace, 0))
    assert mask.pattern[rows, columns].all()
    assert rows.start < 32 < rows.stop - 1
    assert columns.start < 32 < columns.stop - 1


def test_the_calibration_region_of_full_data_is_everything(rng):
    region = calibration_region(complex_normal((1, 2, 7, 9), rng))
    assert region == (slice(0, 7), slice(0, 9))
    assert region.shape == (7, 9)


def test_a_sample_that_one_coil_lost_was_still_acquired(rng):
    kspace = complex_normal((1, 2, 8, 8), rng)
    kspace[0, 0, 4, 4] = 0
    assert calibration_region(kspace).shape == (8, 8)


@pytest.mark.parametrize(
    ("change", "options", "complaint"),
    [
        (lambda k: k[0], {}, r"\(batch, coils, y, x\), got \(2, 16, 16\)"),
        (lambda k: k.real, {}, "complex64 or complex128"),
        (lambda k: k * torch.nan, {}, "must be finite"),
        (lambda k: k * 0, {}, r"sample \(8, 8\), was not acquired.*fftshift"),
        (lambda k: k, {"calibration_width": 5}, "5x5, the kernel 6x6. Choose kernel from 1 to 5"),
        (lambda k: k, {"kernel": 0}, "Choose kernel from 1 to 16"),
        (lambda k: k, {"iterations": 0}, "iterations=0 estimates nothing"),
        (lambda k: k, {"threshold": 1}, "threshold=1 keeps no patch"),
        (lambda k: torch.where(equispaced(16, 4).tensor(), k, 0), {}, "16x1, the kernel"),
    ],
)
def test_data_that_cannot_calibrate_are_refused(change, options, complaint, rng):
    with pytest.raises(InputError, match=complaint):
        espirit(change(complex_normal((1, 2, 16, 16), rng)), **options)


def test_combining_undoes_the_maps_whatever_their_scale(rng):
    image, truth = smooth_coils((12, 10))
    scale = 1 + torch.rand(1, 1, 12, 10, generator=rng)
    torch.testing.assert_close(combine(scale * truth * image, scale * truth), image)


def test_combining_gives_zero_where_no_coil_is_sensitive():
    images = torch.ones(1, 3, 2, 2, dtype=torch.complex64)
    assert not combine(images, torch.zeros_like(images)).any()


def test_root_sum_of_squares_is_the_length_of_the_coil_vector():
    images = torch.tensor([3.0, 4.0j]).reshape(1, 2, 1, 1)
    assert root_sum_of_squares(images).item() == 5


def test_root_sum_of_squares_has_a_finite_gradient_in_the_background():
    images = torch.zeros(1, 2, 3, 3, dtype=torch.complex64, requires_grad=True)
    root_sum_of_squares(images).sum().backward()
    assert not images.grad.any()
