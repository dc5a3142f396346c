"""The rotation turns pairs of entries by a running angle, and nothing else."""

import math

import pytest
import torch

from somamba.scan.rotary import per_head, phases, rotate


def turning(*angles):
    phase = torch.tensor(angles, dtype=torch.float64)
    return phase.cos(), phase.sin()


def test_phases_are_the_running_sum_within_one_turn(rng):
    angles = torch.randn(2, 9, 3, 4, dtype=torch.float64, generator=rng)
    dt = torch.rand(2, 9, 3, dtype=torch.float64, generator=rng)
    turned = torch.zeros(2, 3, 4, dtype=torch.float64)
    for token, phase in enumerate(phases(angles, dt).unbind(dim=1)):
        turned = turned + math.pi * torch.tanh(angles[:, token]) * dt[:, token, :, None]
        assert ((phase >= 0) & (phase <= 2 * math.pi)).all()
        torch.testing.assert_close(
            torch.polar(torch.ones_like(phase), phase), torch.polar(torch.ones_like(turned), turned)
        )


def test_float32_phases_stay_accurate_over_a_large_image(rng):
    angles = 1 + 0.1 * torch.randn(1, 25600, 1, 1, generator=rng)
    dt = torch.full((1, 25600, 1), 0.1)
    difference = phases(angles, dt).double() - phases(angles.double(), dt.double())
    assert torch.sin(difference / 2).abs().max() < 1e-5
    lost = (math.pi * torch.tanh(angles) * dt[..., None]).cumsum(dim=1).double() - phases(angles.double(), dt.double())
    assert torch.sin(lost / 2).abs().max() > 1e-4  # what a float32 sum would give: the check above can fail


def test_the_gradient_of_a_phase_does_not_see_the_wrap():
    angles = torch.full((1, 8, 1, 1), 2.0, dtype=torch.float64, requires_grad=True)
    dt = torch.ones(1, 8, 1, dtype=torch.float64)
    phases(angles, dt)[0, -1].sum().backward()
    slope = math.pi * (1 - math.tanh(2) ** 2)
    torch.testing.assert_close(angles.grad, torch.full_like(angles, slope))


def test_half_rotary_turns_block_0_against_block_2_and_lets_1_and_3_pass():
    vector = torch.arange(1, 17, dtype=torch.float64)
    turned = rotate(vector, *turning(*[math.pi / 2] * 4))
    first, kept, second, also_kept = vector.split(4)
    torch.testing.assert_close(turned, torch.cat([-second, kept, first, also_kept]))


def test_full_rotary_turns_entry_i_against_entry_i_plus_half():
    vector = torch.arange(1, 9, dtype=torch.float64)
    turned = rotate(vector, *turning(0.3, 0.7, 1.1, -2.0))
    expected = torch.view_as_complex(torch.stack([vector[:4], vector[4:]], dim=-1).contiguous())
    expected = expected * torch.polar(torch.ones(4, dtype=torch.float64), torch.tensor([0.3, 0.7, 1.1, -2.0]).double())
    torch.testing.assert_close(turned, torch.cat([expected.real, expected.imag]))


@pytest.mark.parametrize(("n", "angles"), [(7, 3), (7, 1), (20, 3), (5, 2), (4, 0), (2, 1)])
def test_any_number_of_angles_keeps_lengths_and_relative_angles(n, angles, rng):
    a, b = torch.randn(2, n, dtype=torch.float64, generator=rng)
    cosine, sine = turning(*torch.randn(angles, generator=rng).tolist())
    torch.testing.assert_close(torch.dot(rotate(a, cosine, sine), rotate(b, cosine, sine)), torch.dot(a, b))
    torch.testing.assert_close(rotate(rotate(a, cosine, sine), cosine, -sine), a)


def test_every_head_gets_its_groups_interface_and_its_own_bias():
    interface = torch.arange(2 * 3 * 2 * 2 * 5, dtype=torch.float64).reshape(2, 3, 2, 2, 5)
    bias = 1000.0 * torch.arange(4 * 2 * 5, dtype=torch.float64).reshape(4, 2, 5)
    spread = per_head(interface, bias)
    assert spread.shape == (2, 3, 4, 2, 5)
    for head in range(4):
        assert torch.equal(spread[:, :, head], interface[:, :, :, head // 2] + bias[head])
