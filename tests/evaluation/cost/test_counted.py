"""Costs are counted as the paper counts, in full, and by formula; against numbers worked out by hand."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from models.small import SMALL
from somamba.evaluation.cost.counted import measure_cost, scan_macs
from somamba.models.base import Reconstructor
from somamba.models.so_mamba.config import SOMambaConfig
from somamba.models.so_mamba.model import SOMamba
from somamba.models.zoo import build
from somamba.physics.channels import to_channels, to_complex
from somamba.scan.inputs import ScanInputs
from somamba.scan.selective.backends import SelectiveScan
from somamba.scan.selective.inputs import SelectiveInputs


class TwoLayers(Reconstructor):
    """A convolution, a norm, and a matrix product that is no layer."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Conv2d(2, 6, 3, padding=1)
        self.norm = nn.LayerNorm(6)
        self.matrix = nn.Parameter(torch.randn(6, 2))

    def forward(self, y, A):
        """Filter, norm, multiply."""
        features = self.filter(to_channels(A.adjoint(y))).permute(0, 2, 3, 1)
        return to_complex((self.norm(features) @ self.matrix).permute(0, 3, 1, 2))


def test_layers_and_products_are_counted_by_hand():
    cost = measure_cost(TwoLayers(), (10, 12))
    pixels = 10 * 12
    convolution, norm, product = 2 * 6 * 9 * pixels, 4 * 6 * pixels, 6 * 2 * pixels
    assert cost.module == convolution + norm
    assert cost.all == convolution + product
    assert cost.scan == 0
    assert cost.fft == round(2.5 * pixels * math.log2(pixels))  # the one inverse transform of the zero-filled image
    assert cost.parameters == 2 * 6 * 9 + 6 + 12 + 12


def test_the_scan_costs_its_writes_reads_and_decay():
    shape = (2, 5, 3)
    interface, content = torch.zeros(2, 5, 4, 1, 16), torch.zeros(*shape, 64)
    scalar, bias, lift = torch.zeros(shape), torch.zeros(3, 4, 16), torch.zeros(3, 4, 64)
    inputs = ScanInputs(
        interface, interface, content, content, bias, bias, lift, lift, lift, torch.zeros(3), torch.zeros(*shape, 4),
        scalar, scalar, scalar,
    )  # fmt: skip
    assert scan_macs(inputs) == 2 * 5 * 3 * 64 * 16 * (4 + 4 + 1)


class OneScan(Reconstructor):
    """A projection and a selective scan over the pixels."""

    def __init__(self, backend: str) -> None:
        super().__init__()
        self.project = nn.Linear(2, 2)
        self.scan = SelectiveScan(backend)

    def forward(self, y, A):
        """Project, scan, read."""
        u = self.project(to_channels(A.adjoint(y)).flatten(2).mT)
        interface = u.new_ones(*u.shape[:2], 1, 5)
        readout = self.scan(SelectiveInputs(u, u.exp(), -u.new_ones(2, 5), interface, interface, u.new_ones(2)))
        return to_complex(readout.mT.unflatten(2, y.shape[2:]))


@pytest.mark.parametrize("backend", ["auto", "chunked", "reference"])
def test_a_selective_scan_costs_its_decay_write_and_read(backend):
    cost = measure_cost(OneScan(backend), (4, 6))
    assert cost.scan == 4 * 6 * 2 * 5 * 3
    assert cost.module == cost.all == 4 * 6 * 2 * 2  # the projection alone: what runs inside the scan is not counted


def with_backend(name):
    return replace(SMALL, mixer=replace(SMALL.mixer, backend=name))


@pytest.mark.parametrize("backend", ["chunked", "auto"])
def test_no_column_depends_on_the_scan_backend(backend):
    cost = measure_cost(SOMamba(with_backend(backend)), (12, 14))
    assert cost == measure_cost(SOMamba(with_backend("reference")), (12, 14))


def test_costs_grow_with_the_pixels():
    model = SOMamba(SMALL)
    once, twice = measure_cost(model, (16, 16)), measure_cost(model, (16, 32))
    assert (twice.module, twice.scan) == (2 * once.module, 2 * once.scan)


def test_the_zero_filled_image_costs_one_transform():
    cost = measure_cost(build("zero_filled"), (8, 8))
    assert (cost.parameters, cost.module, cost.all, cost.scan) == (0, 0, 0, 0)
    assert cost.fft == 2.5 * 64 * 6


def test_the_default_network_has_the_papers_size_and_cost():
    # 45.59 G at 320x320 is the paper's; every term is proportional to the pixels, so a 16th of the side gives a 256th.
    cost = measure_cost(SOMamba(SOMambaConfig()), (20, 20))
    assert cost.parameters == pytest.approx(1.81e6, rel=0.01)
    assert 256 * cost.module == pytest.approx(45.59e9, rel=0.01)


class Asking(Reconstructor):
    """Attention between the rows of the image, without a layer."""

    def forward(self, y, A):
        """Rows ask rows."""
        rows = to_channels(A.adjoint(y))
        return to_complex(F.scaled_dot_product_attention(rows, rows, rows))


def test_attention_costs_two_products_for_each_pair_of_tokens():
    assert measure_cost(Asking(), (10, 12)).all == 2 * (2 * 10 * 10 * 12)


def test_counting_leaves_no_hook_behind():
    model = SOMamba(SMALL)
    measure_cost(model, (12, 12))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


class Weights(Reconstructor):
    """A softmax over the columns of the image."""

    def __init__(self) -> None:
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, y, A):
        """Real and imaginary parts, each on its own."""
        return to_complex(self.softmax(to_channels(A.adjoint(y))))


def test_a_softmax_costs_an_exponential_a_sum_and_a_division():
    assert measure_cost(Weights(), (10, 12)).module == 3 * 2 * 10 * 12
