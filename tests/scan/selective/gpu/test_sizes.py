"""Tiles of the selective scan are powers of two, and what does not fit says why."""

import pytest

from somamba.scan.gpu.sizes import power_of_two
from somamba.scan.selective.gpu.sizes import NUMBERS, tiles_for, why_not_tiles


@pytest.mark.parametrize("channels", [1, 3, 40, 192])
@pytest.mark.parametrize("n", [1, 3, 16, 20, 256, NUMBERS])
def test_a_tile_holds_all_states_of_some_channels(n, channels):
    tiles = tiles_for(n, channels)
    assert tiles.N == n <= tiles.NP
    assert tiles.NP * tiles.K <= NUMBERS
    assert power_of_two(tiles.K) == tiles.K <= power_of_two(channels)


def test_what_does_not_fit_says_why():
    assert why_not_tiles(NUMBERS) is None
    assert why_not_tiles(NUMBERS + 1) == "its tiles hold at most 512 states for each channel, got n=513"
