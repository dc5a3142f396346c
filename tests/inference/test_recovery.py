"""A slice is scaled as in training, and the image comes back in the units of its k-space."""

import cmath

import numpy as np
import pytest
import torch

from inference.checkpoints import tiny
from models.small import SMALL, perturb
from promises import relative_error
from raw.made import coil_kspace, columns, picture
from somamba.data.config import DataConfig
from somamba.data.simulation.measure import Draw, measure
from somamba.errors import InputError
from somamba.evaluation.evaluate import magnitude, reconstruct
from somamba.inference.recovery import MeasuredSlice, recover, recover_magnitude, whole_image
from somamba.models.base import Reconstructor
from somamba.models.classical.zero_filled import ZeroFilled
from somamba.models.so_mamba.model import SOMamba
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.fourier import fft2c, ifft2c

DRAW = Draw(seed=0, epoch=0, case_id="c1", slice=0)


class Broken(Reconstructor):
    """A network that has lost its numbers."""

    def forward(self, y, A):
        """Nothing but NaN."""
        return A.adjoint(y) * torch.nan


def undersampled(n_coils=1, factor=1.0):
    kspace = torch.from_numpy(columns(coil_kspace(n_coils), 2, 8)) * factor
    return MeasuredSlice(kspace=kspace, mask=(kspace != 0).any(dim=0).any(dim=0)[None])


def test_the_result_follows_the_units_of_kspace():
    network = perturb(SOMamba(SMALL)).eval()
    one, tiny_units = (recover(network, undersampled(factor=factor)) for factor in (1.0, 1e-7))
    torch.testing.assert_close(tiny_units * 1e7, one, rtol=1e-3, atol=1e-3)
    assert not torch.allclose(one, recover(ZeroFilled(), undersampled()), atol=1e-2)


@pytest.mark.parametrize("angle", [0.9, 2.5, -2.0])
def test_the_result_follows_the_phase_of_kspace(angle):
    """The network sees one phase whatever the receiver's was, so the same image comes out, turned as k-space is."""
    network = perturb(SOMamba(SMALL)).eval()
    plain, turn = undersampled(n_coils=1), cmath.rect(1, angle)
    turned = MeasuredSlice(kspace=plain.kspace * turn, mask=plain.mask)
    one, other = recover(network, plain), recover(network, turned)
    torch.testing.assert_close(other / turn, one, rtol=1e-3, atol=1e-3)
    # The network by itself is not like that.
    with torch.no_grad():
        alone, expected = (network(each.kspace[None], each.operator) for each in (turned, plain))
    assert relative_error(alone / turn, expected) > 1e-2


def test_the_network_sees_what_it_saw_in_training():
    """One slice through training's measurement and through this one: the same image but for its scale."""
    network = perturb(SOMamba(SMALL)).eval()
    config = DataConfig(protocol="raw", mask="equispaced", combine="sense", n_coils=3, size=(32, 32))
    sample = measure(np.random.default_rng(0).random((32, 32)).astype(np.float32), config, DRAW)
    measured = MeasuredSlice(kspace=sample.kspace * sample.scale, mask=sample.mask[0], maps=sample.maps)
    with torch.no_grad():
        trained = network(sample.kspace[None], measured.operator)[0, 0]
    torch.testing.assert_close(recover(network, measured) / sample.scale, trained, rtol=1e-3, atol=1e-4)


class Everywhere(Reconstructor):
    """A network that sees something wherever it looks."""

    def forward(self, y, A):
        """Ones."""
        return torch.ones_like(A.adjoint(y))


def test_where_no_coil_sees_anything_nothing_is_shown():
    kspace = torch.from_numpy(coil_kspace(2))
    maps = torch.full(kspace.shape, 0.5**0.5, dtype=torch.complex64)
    maps[..., :5] = 0
    measured = MeasuredSlice(kspace=kspace, mask=torch.ones(1, kspace.shape[-1], dtype=torch.bool), maps=maps)
    image = recover(Everywhere(), measured)
    assert not image[:, :5].any()
    assert image[:, 5:].all()


def test_magnitude_images_come_out_as_in_evaluation():
    from somamba.data.batch import collate

    network = perturb(SOMamba(SMALL)).eval()
    image = picture(32, 32) / picture(32, 32).max()
    sample = measure(image.numpy(), DataConfig(mask="equispaced"), DRAW)
    with torch.no_grad():
        expected = magnitude(reconstruct(network, collate([sample])), protocol="magnitude")[0, 0]
    found = recover_magnitude(network, 300 * image + 50, sample.mask[0])
    torch.testing.assert_close((found.real - 50) / 300, expected, rtol=1e-3, atol=1e-4)


def test_coils_side_by_side_become_their_root_sum_of_squares(tmp_path):
    trained = tiny(tmp_path, coils=3)
    measured = undersampled(3)
    image = recover(trained.model, measured)
    assert image.shape == (32, 24)
    assert not image.imag.any()
    torch.testing.assert_close(
        recover(ZeroFilled(), measured).real, root_sum_of_squares(ifft2c(measured.kspace)[None])[0, 0]
    )


def test_a_slice_without_signal_gives_no_image():
    measured = undersampled(3)
    assert recover(ZeroFilled(), MeasuredSlice(**vars(measured) | {"maps": torch.zeros_like(measured.kspace)})) is None
    assert recover_magnitude(ZeroFilled(), torch.full((8, 8), 3.0), torch.ones(1, 8, dtype=torch.bool)) is None


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="768 values that are not finite, of 768"):
        recover(Broken(), undersampled())
    with pytest.raises(InputError, match="not finite"):
        recover_magnitude(Broken(), picture(), torch.ones(1, 24, dtype=torch.bool))


def test_the_whole_image_is_merged_by_the_same_maps(rng):
    image = torch.randn(16, 12, dtype=torch.complex64, generator=rng)
    maps = torch.randn(4, 16, 12, dtype=torch.complex64, generator=rng)
    maps = maps / torch.linalg.vector_norm(maps, dim=0)
    torch.testing.assert_close(whole_image(fft2c(maps * image), maps), image, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(whole_image(fft2c(maps * image), None).real, image.abs(), rtol=1e-4, atol=1e-5)
