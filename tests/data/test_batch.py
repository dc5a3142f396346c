"""A batch is its samples, stacked, with the operator that measured them."""

import numpy as np
import pytest
import torch

from somamba.data.batch import collate
from somamba.data.config import DataConfig
from somamba.data.simulation.measure import measure
from somamba.data.simulation.seeds import Draw
from somamba.errors import DataError

CONFIG = DataConfig(protocol="raw", mask="random", combine="sense", n_coils=3)


def sample(number: int, size: int = 24, config: DataConfig = CONFIG):
    image = np.random.default_rng(number).random((size, size + 2)).astype(np.float32)
    return measure(image, config, Draw(0, 0, f"c{number}", number))


def test_the_operator_of_a_batch_is_that_of_each_sample():
    samples = [sample(1), sample(2)]
    batch = collate(samples)
    x = torch.randn(2, 1, 24, 26, dtype=torch.complex64)
    for row, one in enumerate(samples):
        alone = collate([one])
        torch.testing.assert_close(batch.A(x)[row], alone.A(x[row : row + 1])[0])
        assert torch.equal(batch.y[row], one.kspace)
    assert (batch.case_ids, batch.slices, len(batch)) == (("c1", "c2"), (1, 2), 2)


def test_coils_on_their_own_need_no_maps():
    batch = collate([sample(1, config=DataConfig())])
    assert batch.A.partial_isometry
    assert batch.y.shape == (1, 1, 24, 26)


def test_moving_a_batch_moves_its_operator():
    moved = collate([sample(1)]).to("meta")
    assert {moved.y.device.type, moved.target.device.type, moved.mask.device.type} == {"meta"}
    assert moved.A(torch.empty(1, 1, 24, 26, dtype=torch.complex64, device="meta")).device.type == "meta"


def test_slices_of_different_sizes_are_refused_with_the_remedy():
    with pytest.raises(DataError, match=r"\(3, 24, 26\), \(3, 30, 32\).*Set size"):
        collate([sample(1), sample(2, size=30)])
    with pytest.raises(DataError, match="at least one"):
        collate([])
