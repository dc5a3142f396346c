"""Networks are built only as large as allowed."""

from dataclasses import replace

import pytest
from torch import nn

from somamba.errors import ConfigError
from somamba.models.bounded import at_most
from somamba.models.zoo import MODELS


def test_what_fits_is_built():
    with at_most(9, 2, source="x"):
        assert sum(p.numel() for p in nn.Linear(2, 3).parameters()) == 9


@pytest.mark.parametrize("limits", [(8, 2), (9, 1)])
def test_one_parameter_more_is_refused(limits):
    with pytest.raises(ConfigError, match="x asks for a network of more than"), at_most(*limits, source="x"):
        nn.Linear(2, 3)
    nn.Linear(20, 30)


@pytest.mark.parametrize("sizes", [{"groups": 16384, "units": 16384}, {"channels": 16384, "d_model": 16384}])
def test_a_network_of_absurd_size_is_refused_before_it_takes_memory(sizes):
    config = replace(MODELS["so_mamba"].config, **sizes)
    with pytest.raises(ConfigError, match="asks for a network"), at_most(10**8, 5000, source="x"):
        MODELS["so_mamba"].build(config)


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="something else"), at_most(source="x"):
        raise RuntimeError("something else")
