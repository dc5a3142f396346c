"""Padding that any size survives, and the two modes of an image-domain network."""

import pytest
import torch
import torch.nn.functional as F

from models.small import measure
from somamba.errors import InputError
from somamba.models.adapters import ImageNetwork, pad_to_multiple


class Halver(ImageNetwork):
    """Half of the image."""

    def refine(self, image):
        """Halve."""
        assert not image.shape[-1] % self.multiple
        return image / 2


@pytest.mark.parametrize("size", [(9, 14), (8, 16), (13, 15)])
def test_padding_reflects_like_pytorch_where_pytorch_can(size):
    image = torch.randn(2, 3, *size)
    extra = [-side % 8 for side in size]
    assert pad_to_multiple(image, 8).equal(F.pad(image, (0, extra[1], 0, extra[0]), mode="reflect"))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (3, 40)])
def test_padding_goes_back_and_forth_over_an_image_that_is_too_small(size):
    image = torch.arange(float(size[0] * size[1])).reshape(1, 1, *size)
    padded = pad_to_multiple(image, 32)
    assert not padded.shape[-1] % 32
    assert not padded.shape[-2] % 32
    assert padded[..., : size[0], : size[1]].equal(image)
    assert set(padded.unique().tolist()) == set(image.unique().tolist())


def test_padding_reaches_the_smallest_side_and_no_further():
    image = torch.randn(1, 2, 5, 33)
    padded = pad_to_multiple(image, 8, smallest=16)
    assert padded.shape[-2:] == (16, 40)
    assert padded[..., :5, :33].equal(image)


def test_as_published_returns_what_the_network_says():
    y, A = measure((9, 11))
    assert Halver(coils=1, mode="as_published", multiple=4)(y, A).equal(A.adjoint(y) / 2)


@pytest.mark.parametrize("coils", [1, 3])
def test_plus_dc_returns_the_measured_samples(coils):
    y, A = measure((9, 11), coils=coils)
    image = Halver(coils=coils, mode="+dc", multiple=4)(y, A)
    assert torch.allclose(A(image), y, atol=1e-5)


def test_another_number_of_coils_is_refused_in_words():
    y, A = measure(coils=2)
    with pytest.raises(InputError, match=r"built for 1 image channel\(s\), the operator gives 2"):
        Halver(coils=1, mode="+dc", multiple=4)(y, A)
