"""Tiles are powers of two, large enough for a matrix product, and chosen by the architecture."""

import pytest

from somamba.scan.gpu.sizes import LARGEST_STATE, ROWS, SMALLEST, power_of_two, tiles_for, why_not_tiles


@pytest.mark.parametrize(("size", "power"), [(1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (17, 32), (64, 64)])
def test_the_next_power_of_two(size, power):
    assert power_of_two(size) == power


@pytest.mark.parametrize("architecture", [None, 75, 80, 86, 120])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5, 8, 64])
def test_tiles_hold_the_sizes_and_enough_rows_for_a_product(architecture, rank):
    tiles = tiles_for(rank, 12, 40, architecture)
    assert (rank, 12, 40) == (tiles.R, tiles.N, tiles.P)
    assert (tiles.NP, tiles.PP) == (16, 64)
    assert rank <= tiles.RP
    assert SMALLEST <= tiles.T * tiles.RP <= ROWS
    assert power_of_two(tiles.T) == tiles.T


def test_tensor_cores_take_three_products_each_and_older_devices_smaller_tiles():
    assert tiles_for(4, 16, 64, 75).PRECISION == "ieee"
    assert tiles_for(4, 16, 64, 86).PRECISION == "tf32x3"
    assert (tiles_for(4, 16, 64, 75).T, tiles_for(4, 16, 64, 86).T) == (8, 16)


def test_what_does_not_fit_says_why():
    assert why_not_tiles(4, 16, 64) is None
    assert why_not_tiles(65, 16, 64) == "its tiles hold at most rank 64, got 65"
    assert str(LARGEST_STATE) in why_not_tiles(4, 128, 64)
