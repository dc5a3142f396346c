"""Loggers are found by entry points, told what the journal holds, and cannot end a training."""

import logging
import sys

import pytest

from somamba.errors import InputError, UnknownNameError
from somamba.report.loggers import Loggers, known_loggers

EVENTS = [
    {"event": "start", "step": 0, "time": 10.0, "length": 2},
    {"event": "step", "step": 1, "time": 11.0, "loss": 0.5, "norm": 2.0, "rate": 0.1, "seconds": 1.0},
    {"event": "step", "step": 2, "time": 12.0, "loss": None, "norm": None, "rate": 0.2, "seconds": 1.0},
    {"event": "validation", "step": 2, "time": 13.0, "psnr": 30.0, "ssim": 0.9, "nmse": 0.01, "improved": True},
    {"event": "stop", "step": 2, "time": 14.0, "reason": "finished"},
]
PLUGIN = """
class Memory:
    heard = []
    def __init__(self, run): self.run = run
    def start(self, step, time): self.heard.append(("start", step, time))
    def scalars(self, step, time, values): self.heard.append((step, time, dict(values)))
    def picture(self, step, time, name, png): self.heard.append((step, name, png))
    def close(self): self.heard.append("closed")

class Broken(Memory):
    def scalars(self, step, time, values): raise OSError("no network")

def unfit(run): raise OSError("no account")
"""


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """An installed package that offers three loggers."""
    place = tmp_path / "site"
    (place / "watching-1.0.dist-info").mkdir(parents=True)
    (place / "watching-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: watching\nVersion: 1.0\n")
    (place / "watching-1.0.dist-info" / "entry_points.txt").write_text(
        "[somamba.loggers]\nmemory = watching:Memory\nbroken = watching:Broken\nunfit = watching:unfit\n"
    )
    (place / "watching.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(place)
    yield __import__("watching").Memory.heard
    del sys.modules["watching"]


@pytest.mark.usefixtures("memory")
def test_a_package_offers_loggers_beside_ours():
    assert {"tensorboard", "memory", "broken"} <= set(known_loggers())


def test_a_logger_hears_numbers_and_the_picture(memory, tmp_path):
    (tmp_path / "validation.png").write_bytes(b"picture")
    loggers = Loggers(["memory"], tmp_path)
    for event in EVENTS:
        loggers.add(event)
    loggers.close()
    assert memory == [
        ("start", 0, 10.0),
        (1, 11.0, {"train/loss": 0.5, "train/gradient_norm": 2.0, "train/rate": 0.1, "train/seconds": 1.0}),
        (2, 12.0, {"train/rate": 0.2, "train/seconds": 1.0}),
        (2, 13.0, {"validation/psnr": 30.0, "validation/ssim": 0.9, "validation/nmse": 0.01}),
        (2, "validation/slice", b"picture"),
        "closed",
    ]


def test_a_logger_that_fails_is_said_once_and_the_others_go_on(memory, tmp_path, caplog):
    loggers = Loggers(["broken", "memory"], tmp_path)
    with caplog.at_level(logging.WARNING):
        for event in EVENTS:
            loggers.add(event)
        loggers.close()
    assert [record.getMessage() for record in caplog.records] == [
        "Logger 'broken' failed and is switched off, the training goes on: no network"
    ]
    assert memory.count("closed") == 1
    assert sum(1 for heard in memory if heard[0] in (1, 2)) == 3


@pytest.mark.usefixtures("memory")
def test_what_cannot_be_opened_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(InputError, match=r"Logger 'unfit' \(watching:unfit\) cannot be opened: no account"):
        Loggers(["unfit"], tmp_path)
    with pytest.raises(UnknownNameError, match="Did you mean 'tensorboard'"):
        Loggers(["tensorbord"], tmp_path)
