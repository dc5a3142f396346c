"""A device is found by name, or refused."""

import pytest
import torch

from somamba.errors import ConfigError
from somamba.runtime.device import Arriving, find_device, send, use_threads


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


def two_gpus(monkeypatch):
    """Pretend that there are two, and note which of them is made the current one."""
    chosen = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    return chosen


def test_each_local_process_has_a_gpu_of_its_own(monkeypatch):
    chosen = two_gpus(monkeypatch)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert find_device("auto") == torch.device("cuda", 1)
    assert chosen == [torch.device("cuda", 1)]


def test_more_processes_than_gpus_are_refused(monkeypatch):
    chosen = two_gpus(monkeypatch)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ConfigError, match="wants a GPU of its own, and there are 2"):
        find_device("cuda")
    assert not chosen


def test_numbers_of_the_cpu_have_arrived_already():
    assert Arriving(torch.tensor([1.5, 2.0])).wait() == [1.5, 2.0]


def test_what_is_sent_to_a_gpu_goes_through_pinned_memory_and_is_not_waited_for(monkeypatch):
    steps = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: steps.append("pinned") or tensor)
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, *given, **named: steps.append((given, named)) or tensor)
    send(torch.ones(2), "cuda:1")
    assert steps == ["pinned", (("cuda:1",), {"non_blocking": True})]


def test_what_stays_on_the_cpu_is_not_copied():
    tensor = torch.ones(2)
    assert send(tensor, "cpu") is tensor
