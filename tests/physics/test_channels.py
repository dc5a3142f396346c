"""The bridge between complex images and real channels loses nothing."""

import pytest
import torch

from promises import complex_normal
from somamba.errors import InputError
from somamba.physics.channels import to_channels, to_complex


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_there_and_back_is_exact(dtype, rng):
    image = complex_normal((2, 3, 5, 4), rng, dtype)
    back = to_complex(to_channels(image))
    assert back.dtype == dtype
    assert torch.equal(back, image)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_back_and_there_is_exact(dtype, rng):
    channels = torch.randn(2, 6, 5, 4, dtype=dtype, generator=rng)
    assert torch.equal(to_channels(to_complex(channels)), channels)


def test_real_parts_come_first_then_imaginary_parts():
    image = torch.tensor([1 + 10j, 2 + 20j, 3 + 30j]).reshape(1, 3, 1, 1)
    assert to_channels(image).flatten().tolist() == [1, 2, 3, 10, 20, 30]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_becomes_float32_before_it_meets_physics(dtype, rng):
    channels = torch.randn(1, 2, 3, 3, generator=rng).to(dtype)
    image = to_complex(channels)
    assert image.dtype == torch.complex64
    assert torch.equal(image.real, channels[:, :1].float())


def test_an_odd_number_of_channels_is_refused():
    with pytest.raises(InputError, match=r"even number of channels.*got 3"):
        to_complex(torch.zeros(1, 3, 4, 4))


def test_the_bridge_carries_gradients(rng):
    image = complex_normal((1, 2, 3, 3), rng).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: to_complex(to_channels(x) * 2), image)
