"""Masks are what their numbers say, on every machine, for good."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch

from somamba.errors import InputError, UnknownNameError
from somamba.physics.encoding import encoding
from somamba.physics.masks import (
    GOLDEN_ANGLE,
    MASKS,
    PAPER_OFFSETS,
    equispaced,
    golden_radial,
    make_mask,
    random_columns,
    uniform_radial,
)

PAPER = {  # (width, acceleration): (lines, digest)
    (320, 4): (80, "65282460a3040d00"),
    (320, 8): (40, "dbeb034ae3dff5e8"),
    (256, 4): (64, "242a0287da600281"),
    (256, 8): (32, "46f7f63eea5fd590"),
}


def equispaced_by_fractions(width, acceleration, offset):
    """The same mask in exact arithmetic, column by column instead of by a range of floats."""
    n_low = round(Fraction(32, 100) * width / acceleration)
    spacing = Fraction(acceleration * (width - n_low), width - n_low * acceleration)
    low = (width - n_low + 1) // 2
    n_steps = math.ceil((width - 1 - offset) / spacing)
    nearest = {math.floor(offset + k * spacing + Fraction(1, 2)) for k in range(n_steps)}
    return tuple(c for c in range(width) if c in nearest or low <= c < low + n_low)


@pytest.mark.parametrize(("width", "acceleration"), PAPER)
def test_the_papers_masks_have_the_papers_lines(width, acceleration):
    mask = equispaced(width, acceleration)
    n_lines, digest = PAPER[width, acceleration]
    assert len(mask.lines) == n_lines
    assert mask.realised_acceleration == acceleration
    assert mask.lines == equispaced_by_fractions(width, acceleration, PAPER_OFFSETS[width, acceleration])
    assert mask.digest == digest


@pytest.mark.parametrize(("width", "acceleration", "offset"), [(368, 4, 2), (372, 8, 7), (127, 3, 1), (224, 4, 0)])
def test_equispaced_masks_follow_the_formula_at_other_sizes(width, acceleration, offset):
    mask = equispaced(width, acceleration, offset=offset)
    assert mask.lines == equispaced_by_fractions(width, acceleration, offset)
    assert mask.realised_acceleration == pytest.approx(acceleration, rel=0.03)


def test_the_offset_is_zero_where_the_paper_gives_none():
    assert equispaced(224, 4) == equispaced(224, 4, offset=0)
    assert equispaced(256, 4) != equispaced(256, 4, offset=0)


def test_acceleration_one_acquires_every_column():
    for mask in (equispaced(17, 1), random_columns(17, 1, seed=0)):
        assert mask.lines == tuple(range(17))
        assert mask.calibration == 17


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
@pytest.mark.parametrize(("width", "acceleration"), [(224, 4), (224, 8), (127, 3)])
def test_random_masks_have_exactly_their_lines_and_always_the_centre(width, acceleration, seed):
    mask = random_columns(width, acceleration, seed=seed)
    n_low = round(width * 0.32 / acceleration)
    assert len(mask.lines) == round(width / acceleration)
    assert set(range((width - n_low + 1) // 2, (width - n_low + 1) // 2 + n_low)) <= set(mask.lines)
    assert mask.calibration >= n_low


def test_a_seed_names_a_random_mask_for_good():
    assert random_columns(224, 4, seed=0).digest == "7c10298bc7086ab5"
    assert random_columns(224, 4, seed=1) != random_columns(224, 4, seed=0)


@pytest.mark.parametrize(
    ("make", "spokes", "n_samples", "percent", "digest"),
    [
        (golden_radial, 32, 4029, 24.6, "dc08e2a9f10cf3e5"),
        (golden_radial, 16, 2105, 12.85, "68a66cae192554d8"),
        (uniform_radial, 32, 4008, 24.5, "9ade8df08e77b0f9"),
        (uniform_radial, 16, 2080, 12.7, "7c60d659c14a6826"),
    ],
)
def test_radial_masks_fill_their_share_of_the_grid(make, spokes, n_samples, percent, digest):
    mask = make(128, spokes)
    assert int(mask.pattern.sum()) == n_samples
    assert 100 / mask.realised_acceleration == pytest.approx(percent, abs=0.05)
    assert mask.lines is None
    assert mask.digest == digest


def radial_point_by_point(height, width, angles):
    """Walk every spoke outwards from the centre until it leaves the grid, in both directions."""
    pattern = torch.zeros(height, width, dtype=torch.bool)
    for angle in angles:
        for turn in (0, math.pi):
            radius, y, x = 0, height // 2, width // 2
            while 0 <= y < height and 0 <= x < width:
                pattern[y, x] = True
                radius += 1
                y = height // 2 + round(radius * math.sin(math.radians(angle) + turn))
                x = width // 2 + round(radius * math.cos(math.radians(angle) + turn))
    return pattern


@pytest.mark.parametrize("size", [(128, 128), (31, 31), (40, 23)])
@pytest.mark.parametrize("spokes", [7, 16])
def test_a_radial_mask_is_the_union_of_its_spokes(size, spokes):
    golden = radial_point_by_point(*size, [s * GOLDEN_ANGLE for s in range(spokes)])
    uniform = radial_point_by_point(*size, [s * 180 / spokes for s in range(spokes)])
    assert torch.equal(golden_radial(size, spokes).pattern, golden)
    assert torch.equal(uniform_radial(size, spokes).pattern, uniform)


@pytest.mark.parametrize("spokes", [5, 12, 16])
def test_radial_masks_are_symmetric_about_the_centre(spokes):
    # At odd sizes the centre is the middle pixel, so half a turn maps the grid onto itself.
    for mask in (golden_radial(33, spokes), uniform_radial(33, spokes)):
        assert torch.equal(mask.pattern, mask.pattern.flip(0, 1))
    # 12 spokes include 30 degrees, where every second sample lies half-way between two grid points.
    mirrored = uniform_radial(33, spokes).pattern
    assert torch.equal(mirrored, mirrored.flip(0))


def test_a_radial_size_of_one_number_is_a_square():
    assert golden_radial(20, 3) == golden_radial((20, 20), 3)


@pytest.mark.parametrize("kind", MASKS)
def test_every_kind_is_made_by_the_same_call_and_feeds_the_operator(kind):
    mask = make_mask(kind, shape=(48, 64), acceleration=4, seed=3)
    assert mask.kind == kind
    assert mask.acceleration == 4
    assert mask == make_mask(kind, shape=(48, 64), acceleration=4, seed=3)
    assert mask.tensor().shape == (1, 1, *mask.pattern.shape)
    assert mask.realised_acceleration == pytest.approx(4, rel=0.2)
    assert mask.pattern[mask.pattern.shape[0] // 2, 32]
    x = torch.ones(1, 1, 48, 64, dtype=torch.complex64)
    assert encoding(mask.tensor())(x).shape == x.shape


def test_options_reach_the_maker():
    assert make_mask("equispaced", shape=(1, 256), acceleration=4, offset=1) == equispaced(256, 4, offset=1)
    assert make_mask("random", shape=(8, 64), acceleration=4, seed=5) == random_columns(64, 4, seed=5)
    assert make_mask("golden-radial", shape=(128, 128), acceleration=4) == golden_radial(128, 32)
    assert make_mask("uniform-radial", shape=(128, 128), acceleration=8) == uniform_radial(128, 16)
    few = make_mask("uniform-radial", shape=(128, 128), acceleration=8, spokes=10)
    assert few == uniform_radial(128, 10)
    assert few.acceleration == 12.8


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (lambda: equispaced(64, 0.5), "acceleration=0.5 is below 1"),
        (lambda: equispaced(64, math.nan), "acceleration=nan is below 1"),
        (lambda: random_columns(15, 8, seed=0), "15 columns are too few for acceleration 8"),
        (lambda: equispaced(64, 4, center_fraction=0.25), "centre of 16 of 64.*at most 15 cal.*up to 0.234"),
        (lambda: equispaced(64, 4, center_fraction=-0.1), "center_fraction=-0.1 is not a share"),
        (lambda: random_columns(64, 4, seed=0, center_fraction=0.3), "centre of 19.*16 of 64.*at most 16 cal.*to 0.25"),
        (lambda: equispaced(64, 4, offset=9), "offset=9 is not within one spacing"),
        (lambda: equispaced(64, 4, offset=-1), "offset=-1 is not within one spacing"),
        (lambda: random_columns(64, 4, seed=-1), "seed=-1 is not"),
        (lambda: golden_radial(64, 0), "at least 1 spoke"),
        (lambda: uniform_radial(64, 0), "at least 1 spoke"),
        (lambda: golden_radial((64, 1), 3), "grid of at least 2x2.*64x1"),
        (lambda: make_mask("golden-radial", shape=(64, 64), acceleration=0), "acceleration=0 is below 1"),
        (lambda: make_mask("random", shape=(64, 64), acceleration=4, offset=1), "'random' has no option 'offset'"),
    ],
)
def test_an_impossible_mask_is_refused(request_, complaint):
    with pytest.raises(InputError, match=complaint):
        request_()


@pytest.mark.parametrize("make", [equispaced, lambda *numbers, **share: random_columns(*numbers, seed=0, **share)])
@pytest.mark.parametrize(("width", "acceleration"), [(224, 12), (320, 4), (168, 2.5), (64, 31)])
def test_the_widest_centre_that_is_advised_is_possible_in_columns_and_as_their_share(make, width, acceleration):
    with pytest.raises(InputError) as refused:
        make(width, acceleration, center_fraction=0.5)
    lines, share = re.search(
        r"at most (\d+) calibration columns, a center_fraction of up to (.+)\.$", str(refused.value)
    ).groups()
    assert make(width, acceleration, center_fraction=int(lines) / width).calibration >= int(lines)
    assert make(width, acceleration, center_fraction=float(share)).calibration >= int(lines)
    with pytest.raises(InputError):
        make(width, acceleration, center_fraction=(int(lines) + 1) / width)


def test_an_unknown_kind_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'equispaced'"):
        make_mask("equispace", shape=(64, 64), acceleration=4)


def test_making_a_random_mask_leaves_the_global_generators_alone():
    before = np.random.get_state()[1].copy(), torch.get_rng_state()
    random_columns(64, 4, seed=0)
    assert np.array_equal(np.random.get_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
