"""Masks are fixed or drawn, by name alone."""

from dataclasses import replace

import pytest

from somamba.data.config import DataConfig
from somamba.data.simulation.seeds import Draw, mask_for

DRAW = Draw(seed=0, epoch=0, case_id="c1", slice=3)
RAW = DataConfig(dataset="acdc", protocol="raw", mask="equispaced", n_coils=3, size=(32, 32))


def test_a_fixed_mask_is_the_same_for_every_slice_and_epoch():
    config = DataConfig(mask="random")
    first = mask_for((32, 32), config, DRAW)
    assert mask_for((32, 32), config, replace(DRAW, epoch=5, slice=9, case_id="c2")) == first
    assert mask_for((32, 32), replace(config, seed=1), DRAW) != first


@pytest.mark.parametrize("kind", ["random", "equispaced"])
def test_drawn_masks_differ_between_slices_and_repeat(kind):
    config = replace(RAW, mask=kind)
    masks = [mask_for((32, 128), config, replace(DRAW, slice=number)) for number in range(12)]
    assert len({mask.digest for mask in masks}) > 2
    assert masks[4] == mask_for((32, 128), config, replace(DRAW, slice=4))
    assert max(mask.realised_acceleration for mask in masks) < 5


def test_counts_in_mask_options_may_be_written_as_decimals():
    config = DataConfig(mask_options={"spokes": 7.0})
    assert mask_for((32, 32), config, DRAW) == mask_for((32, 32), DataConfig(mask_options={"spokes": 7}), DRAW)


def test_what_belongs_to_an_examination_does_not_change_with_slice_or_epoch():
    other = replace(DRAW, epoch=4, slice=7)
    assert DRAW.of_case("coils") == other.of_case("coils")
    assert DRAW.of("noise") != other.of("noise")
