"""What is held out is not seen, what is seen is not held out, and together they are all samples."""

import pytest
import torch

from promises import complex_normal
from somamba.errors import InputError
from somamba.physics.encoding import Fourier, encoding
from somamba.physics.held_out import EVERY, hold_out, joined, sampled_mask, scattered, some_rows, split, without_gaps
from somamba.physics.masks import equispaced

MAPS = complex_normal((2, 3, 24, 32), torch.Generator().manual_seed(1), torch.complex64)
MAPS = MAPS / torch.linalg.vector_norm(MAPS, dim=1, keepdim=True)
A = encoding(equispaced(32, 2).tensor(), MAPS)
IMAGES = complex_normal((2, 1, 24, 32), torch.Generator().manual_seed(2), torch.complex64)


SCATTERED = encoding(torch.rand(2, 1, 24, 32, generator=torch.Generator().manual_seed(3)) < 0.6, MAPS)


def parts(operator=A, seed=0):
    return hold_out(operator(IMAGES), operator, seed)


@pytest.mark.parametrize("operator", [A, SCATTERED], ids=["columns", "scattered"])
def test_both_parts_are_all_samples_and_none_is_in_both(operator):
    held = parts(operator)
    torch.testing.assert_close(held.y + held.hidden, operator(IMAGES))
    assert not ((held.y != 0) & (held.hidden != 0)).any()
    seen, hidden = sampled_mask(held.A), sampled_mask(held.hidden_operator)
    assert torch.equal(seen | hidden, sampled_mask(operator).expand_as(seen))
    assert hidden.any()
    assert not (seen & hidden).any()


def test_of_columns_some_outside_and_the_edges_of_the_block_are_held_out():
    columns = torch.zeros(64, dtype=torch.bool)
    columns[27:37] = True
    columns[[1, 6, 11, 16, 21, 42, 47, 52, 57, 62]] = True
    mask = encoding(columns, MAPS[..., :1].expand(-1, -1, -1, 64).contiguous())
    y = mask(complex_normal((2, 1, 24, 64), torch.Generator().manual_seed(4), torch.complex64))
    held = hold_out(y, mask, 0)
    lines = sampled_mask(held.hidden_operator)[0, 0, 0].nonzero().flatten().tolist()
    assert {27, 36} < set(lines)
    assert 4 <= len(lines) <= 5
    assert not set(lines) & set(range(28, 36))
    assert sampled_mask(held.A).shape[-2] == 1


def test_rows_that_were_never_acquired_stay_so():
    pattern = torch.zeros(24, 32, dtype=torch.bool)
    pattern[4:20] = equispaced(32, 2).pattern
    held = parts(encoding(pattern, MAPS))
    assert not held.y[:, :, :4].any()
    assert not held.hidden[:, :, :4].any()


def test_of_scattered_samples_the_centre_is_never_held_out():
    hidden = sampled_mask(parts(SCATTERED).hidden_operator)
    assert 0.05 < hidden.sum() / sampled_mask(SCATTERED).sum() < 0.25
    assert not hidden[..., 9:15, 12:20].any()


def test_the_true_image_predicts_what_was_held_out_and_nothing_does_not():
    held = parts()
    assert held.residual(IMAGES).max() < 1e-5
    torch.testing.assert_close(held.residual(torch.zeros_like(IMAGES)), torch.ones(2))


def test_each_slice_has_a_residual_of_its_own():
    mixed = torch.cat([IMAGES[:1], torch.zeros_like(IMAGES[1:])])
    assert parts().residual(mixed).tolist() == pytest.approx([0, 1], abs=1e-5)


def test_a_seed_names_the_draw():
    assert torch.equal(parts(SCATTERED, 3).y, parts(SCATTERED, 3).y)
    assert not torch.equal(parts(SCATTERED, 3).y, parts(SCATTERED, 4).y)


def test_whole_lines_can_be_held_out():
    lines = torch.zeros(1, 1, 24, 32, dtype=torch.bool)
    lines[..., 2] = True
    held = split(A(IMAGES), A, lines)
    assert not held.y[..., 2].any()
    assert held.hidden[..., 2].all()


def test_nothing_can_be_held_out_of_a_tiny_centre_or_without_a_mask():
    mask = torch.zeros(24, 32, dtype=torch.bool)
    mask[10:14, 14:18] = True
    mask[11, 15] = False
    only = encoding(mask, MAPS)
    with pytest.raises(InputError, match="none can be held out"):
        hold_out(only(IMAGES), only, 0)
    with pytest.raises(InputError, match="has no mask"):
        sampled_mask(Fourier())


def test_gaps_are_told_from_edges():
    columns = torch.zeros(3, 1, 1, 16, dtype=torch.bool)
    columns[0] = True
    columns[1, ..., 4:12] = True
    columns[2, ..., 8:] = True
    assert without_gaps(columns)
    columns[2, ..., 10] = False
    assert not without_gaps(columns)
    assert not without_gaps(sampled_mask(SCATTERED))


def test_a_narrow_block_keeps_its_edges():
    for width, kept in ((7, True), (8, False)):
        columns = torch.zeros(64, dtype=torch.bool)
        columns[29 : 29 + width] = True
        columns[[5, 15, 45, 55]] = True
        operator = encoding(columns, MAPS[..., :1].expand(-1, -1, -1, 64).contiguous())
        hidden = sampled_mask(hold_out(operator(IMAGES.repeat(1, 1, 1, 2)), operator, 0).hidden_operator)
        assert bool(hidden[..., [29, 28 + width]].any()) is not kept


def test_the_residual_is_the_mean_of_squares_and_of_magnitudes():
    held = parts()
    image = IMAGES + complex_normal(IMAGES.shape, torch.Generator().manual_seed(9), torch.complex64)
    rest = (held.hidden_operator(image) - held.hidden).abs()
    for number in range(2):
        one, size = rest[number], held.hidden[number].abs()
        squares = (one.square().sum() / size.square().sum()).sqrt()
        magnitudes = one.sum() / size.sum()
        assert abs(squares - magnitudes) > 1e-3, "else this could not tell one from the other"
        torch.testing.assert_close(held.residual(image)[number], (squares + magnitudes) / 2)


def test_the_sets_of_lines_share_the_edges_of_the_block_and_nothing_else():
    columns = torch.zeros(64, dtype=torch.bool)
    columns[27:37] = True
    columns[1:27:3] = columns[40:64:3] = True
    operator = encoding(columns, MAPS[..., :1].expand(-1, -1, -1, 64).contiguous())
    y = operator(complex_normal((2, 1, 24, 64), torch.Generator().manual_seed(4), torch.complex64))
    sets = [sampled_mask(hold_out(y, operator, 0, number).hidden_operator)[0, 0, 0] for number in range(EVERY)]
    times = torch.stack(sets).sum(dim=0)
    assert times[[27, 36]].tolist() == [EVERY, EVERY]
    outside = columns.clone()
    outside[27:37] = False
    assert torch.equal(times == 1, outside)
    assert not times[28:36].any()


def test_some_rows_of_whole_columns_are_measured_as_if_alone():
    y, operator = some_rows(A(IMAGES), A, slice(5, 13))
    torch.testing.assert_close(y, operator(IMAGES[..., 5:13, :]))
    held = parts().rows(slice(5, 13))
    assert held.residual(IMAGES[..., 5:13, :]).max() < 1e-5
    assert parts(SCATTERED).rows(slice(5, 13)).y.shape[-2] == 24


def test_joined_parts_keep_their_residuals():
    several = [hold_out(A(IMAGES), A, 0, number) for number in range(3)]
    image = IMAGES + complex_normal(IMAGES.shape, torch.Generator().manual_seed(9), torch.complex64)
    one_by_one = torch.cat([part.residual(image) for part in several])
    together = joined(several)
    torch.testing.assert_close(together.residual(image.repeat(3, 1, 1, 1)), one_by_one)
    torch.testing.assert_close(together.A(image.repeat(3, 1, 1, 1))[2:4], several[1].A(image))
    assert one_by_one.unique().numel() == 6


def test_drawn_samples_lie_in_the_mask_and_outside_of_the_centre():
    mask = sampled_mask(A)
    drawn = scattered(mask, 24, 0.5, torch.Generator().manual_seed(0))
    assert drawn.shape == (1, 1, 24, 32)
    assert not (drawn & ~mask).any()
    assert not drawn[..., 9:15, 12:20].any()
    assert 0.3 < drawn.sum() / (24 * mask.sum()) < 0.55
