"""A backend is compared with the definition before it is trusted."""

import pytest
import torch

from somamba.scan.backends import BACKENDS, example
from somamba.scan.chunked import scan_chunked
from somamba.scan.parity import TOLERANCE, Parity, measure_parity
from somamba.scan.reference import scan_reference
from somamba.scan.selective.backends import BACKENDS as SELECTIVE

CPU = torch.device("cpu")


def test_a_right_backend_agrees_in_output_and_gradients():
    parity = measure_parity(scan_chunked, scan_reference, example(()), CPU)
    assert parity.readout < 1e-5
    assert parity.gradient < 1e-5
    assert parity.complaint is None


def test_a_wrong_gradient_is_found_though_the_output_is_right():
    def detached(inputs, *, keep_states):
        output = scan_chunked(inputs, keep_states=keep_states)
        right, through = output.readout.detach(), output.readout
        return output._replace(readout=right + 2 * (through - right))

    parity = measure_parity(detached, scan_reference, example(()), CPU)
    assert parity.readout < 1e-5
    assert parity.gradient == pytest.approx(1, abs=1e-3)
    assert "in a gradient" in parity.complaint


def test_nan_is_never_trusted():
    assert Parity(float("nan"), 0.0).complaint is not None
    assert Parity(0.0, float("nan")).complaint is not None
    assert Parity(TOLERANCE, TOLERANCE).complaint is None


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_are_compared_also_where_none_are_wanted(mode):
    with mode():
        assert measure_parity(scan_chunked, scan_reference, example(()), CPU).gradient < 1e-5


def test_every_size_has_an_example_that_a_scan_accepts():
    for sizes in [(), (1, 8, 5, 2), (3, 20, 40, 10)]:
        example(sizes).check()


@pytest.mark.parametrize("table", [BACKENDS, SELECTIVE], ids=["mamba3", "selective"])
def test_the_comparison_is_made_once_and_never_of_the_definition_or_on_meta(table):
    table.parity.cache_clear()
    assert table.parity("chunked", "cpu", None, ()) is table.parity("chunked", "cpu", None, ())
    assert table.parity("reference", "cpu", None, ()) is None
    assert table.parity("chunked", "meta", None, ()) is None
