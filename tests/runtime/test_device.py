"""A device is found by name, or refused."""

import pytest
import torch

from somamba.errors import ConfigError
from somamba.runtime.device import find_device, use_threads


def test_the_cpu_is_always_there():
    assert find_device("cpu") == torch.device("cpu")


def test_an_unknown_device_is_refused():
    with pytest.raises(ConfigError, match="choose auto, cpu or cuda"):
        find_device("tpu")


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch sees no GPU"):
        find_device("cuda")
    assert find_device("auto") == torch.device("cpu")


@pytest.fixture(autouse=True)
def restored():
    """Leave the number of threads as it was."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_the_number_of_threads_reaches_torch():
    use_threads(3)
    assert torch.get_num_threads() == 3


def test_none_leaves_them_as_they_are():
    use_threads(2)
    use_threads(None)
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_impossible_numbers_are_refused(count):
    before = torch.get_num_threads()
    with pytest.raises(ConfigError, match=f"threads={count}"):
        use_threads(count)
    assert torch.get_num_threads() == before
