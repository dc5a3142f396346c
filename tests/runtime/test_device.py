"""A device is found by name, or refused."""

import pytest
import torch

from somamba.errors import ConfigError
from somamba.runtime.device import find_device


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
