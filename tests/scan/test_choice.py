"""The scheme of choice, with a table made up for the purpose."""

import pytest
import torch

from somamba.errors import BackendError
from somamba.scan.choice import Backend, Backends, Request, full_precision
from somamba.scan.conditions import always
from somamba.scan.inputs import ScanOutput


def run(_inputs, *, keep_states=False):
    return ScanOutput(torch.zeros(1), None if not keep_states else torch.zeros(1))


def test_the_first_that_can_is_taken_and_asked_once():
    asked = []

    def refuse(request):
        asked.append(request)
        return "it is out"

    table = Backends("test backend", {"away": Backend(run, refuse, ""), "here": Backend(run, always, "")})
    assert table.choose("auto", Request()) is table["here"]
    assert table.choose("auto", Request()) is table["here"]
    assert asked == [Request()]
    table.automatic.cache_clear()
    table.choose("auto", Request())
    assert asked == [Request(), Request()]


def test_tables_choose_for_themselves():
    first, second = (Backends("test backend", {name: Backend(run, always, "")}) for name in ("one", "two"))
    assert first.automatic(Request()) == "one"
    assert second.automatic(Request()) == "two"


def test_where_nothing_can_run_every_reason_is_given():
    table = Backends("test backend", {name: Backend(run, lambda _: "it is out", "") for name in ("one", "two")})
    with pytest.raises(BackendError, match=r"No test backend can serve .*'one' \(it is out\); 'two' \(it is out\)"):
        table.choose("auto", Request())


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_autocast_is_suspended_where_there_is_one(device):
    with torch.autocast("cpu", torch.bfloat16), full_precision(device):
        assert torch.is_autocast_enabled("cpu") == (device == "meta")
