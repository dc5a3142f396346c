"""The cost of a network: parameters, and multiply-accumulates (MACs) counted three ways.

module    as the paper counts: hooks on convolutions, linear layers, norms, pools, softmax. Misses the scan, FFTs
          and whatever is not a layer. This is the column to compare with the paper's "FLOPs".
all       every matrix product and convolution that runs, layer or not; without scan and FFT.
formula   scan and FFT, by formula: the scan's own arithmetic, whichever backend runs it, and 5 N log2 N operations
          for an FFT of N points, two to a MAC.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry
from typing_extensions import override

from somamba.models.base import Reconstructor
from somamba.physics.encoding import encoding
from somamba.scan.backends import Scan
from somamba.scan.inputs import ScanInputs
from somamba.scan.selective.backends import SelectiveScan
from somamba.scan.selective.inputs import SelectiveInputs

NORM_OPERATIONS = 4  # an affine norm: subtract, divide, scale, shift; the counter the lineage used counts each as one
SOFTMAX_OPERATIONS = 3  # exponential, sum, division


@dataclass(frozen=True)
class Cost:
    """Parameters, and MACs of one forward pass."""

    parameters: int
    module: int
    all: int
    scan: int
    fft: int


def measure_cost(model: Reconstructor, size: tuple[int, int], *, coils: int = 1) -> Cost:
    """Count one forward pass, on the device of the model.

    Args:
        model: The network.
        size: Height and width of the image.
        coils: Number of coils.
    """
    parameter = next(model.parameters(), torch.empty(0))
    mask = torch.ones(1, 1, 1, size[1], dtype=torch.bool, device=parameter.device)
    y = torch.zeros(1, coils, *size, dtype=torch.complex64, device=parameter.device)
    counter = _Counter()
    layers = _LayerCounter(counter)
    with ExitStack() as stack:
        for module in model.modules():
            layers.watch(module, stack)
        stack.enter_context(torch.no_grad())
        stack.enter_context(counter)
        model(y, encoding(mask))
    return Cost(model.parameter_count, layers.macs, counter.macs, layers.scan, counter.fft)


class _LayerCounter:
    """Hooks on layers: the paper's way of counting, and the scan by formula."""

    def __init__(self, counter: "_Counter") -> None:
        self.macs = 0
        self.scan = 0
        self.counter = counter

    def watch(self, module: nn.Module, stack: ExitStack) -> None:
        if isinstance(module, Scan | SelectiveScan):
            stack.callback(module.register_forward_pre_hook(self._enter_scan).remove)
            stack.callback(module.register_forward_hook(self._leave_scan).remove)
            return
        for kind, rule in _RULES.items():
            if isinstance(module, kind):
                stack.callback(module.register_forward_hook(self._add(rule)).remove)
                return

    def _add(self, rule: Callable[..., int]) -> Callable[[nn.Module, Any, Any], None]:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            self.macs += rule(module, inputs, output)

        return hook

    def _enter_scan(self, _module: nn.Module, inputs: tuple[ScanInputs | SelectiveInputs]) -> None:
        self.counter.paused = True
        self.scan += scan_macs(inputs[0])

    def _leave_scan(self, _module: nn.Module, _inputs: Any, _output: Any) -> None:
        self.counter.paused = False


def scan_macs(inputs: ScanInputs | SelectiveInputs) -> int:
    """MACs of the recurrence: ``rank`` writes, ``rank`` reads and one decay for every number of the state.

    A selective scan has rank one.
    """
    if isinstance(inputs, SelectiveInputs):
        return inputs.u.numel() * inputs.A.shape[1] * 3
    batch, tokens, heads, p = inputs.x.shape
    rank, n = inputs.B.shape[2], inputs.B.shape[4]
    return batch * tokens * heads * p * n * (2 * rank + 1)


class _Counter(TorchDispatchMode):
    """Every operator that runs: matrix products and convolutions by PyTorch's own formulas, FFTs by ours."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.macs = 0
        self.fft = 0
        self.paused = False

    @override
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        packet = func._overloadpacket
        if packet is torch.ops.aten._fft_c2c:
            self.fft += _fft_macs(args[0], args[1])
        elif packet._qualified_op_name in _FORMULAS and not self.paused:
            self.macs += _FORMULAS[packet._qualified_op_name](args, output)
        elif packet in flop_registry and not self.paused:
            self.macs += int(flop_registry[packet](*args, **(kwargs or {}), out_val=output)) // 2
        return output


def _fft_macs(x: Tensor, dims: list[int]) -> int:
    points = math.prod(x.shape[d] for d in dims)
    return round(x.numel() * 2.5 * math.log2(points)) if points > 1 else 0


# Operators that PyTorch's table does not know: in-place products, attention on the CPU and our own filters.
_FORMULAS: dict[str, Callable[[tuple[Any, ...], Any], int]] = {
    "aten::addmm_": lambda args, _output: args[1].numel() * args[2].shape[1],
    # queries with keys, and their weights with values
    "aten::_scaled_dot_product_flash_attention_for_cpu": lambda args, output: (
        (args[0].numel() + output[0].numel()) * args[1].shape[-2]
    ),
    "somamba::depthwise_gelu": lambda _args, output: 9 * output.numel(),
    "somamba::modulated_norm": lambda args, _output: args[4].numel() * args[5].shape[0],  # its linear layer
}


def _norm(module: Any, inputs: Any, _output: Any) -> int:
    affine = getattr(module, "affine", False) or getattr(module, "elementwise_affine", False)
    return inputs[0].numel() * (NORM_OPERATIONS if affine else NORM_OPERATIONS // 2)


_RULES: dict[type[nn.Module], Callable[..., int]] = {
    # A transposed convolution is counted by its output, too, which over-counts strides; the lineage does the same.
    nn.modules.conv._ConvNd: lambda module, _, output: (
        output.numel() * (module.in_channels // module.groups) * math.prod(module.kernel_size)
    ),
    nn.Linear: lambda module, inputs, _: math.prod(inputs[0].shape[:-1]) * module.in_features * module.out_features,
    nn.LayerNorm: _norm,
    nn.modules.batchnorm._NormBase: _norm,  # group norms are unknown to the counter of the lineage
    nn.AvgPool2d: lambda _module, _inputs, output: output.numel(),
    nn.AdaptiveAvgPool2d: lambda _module, _inputs, output: output.numel(),
    nn.Softmax: lambda _module, _inputs, output: output.numel() * SOFTMAX_OPERATIONS,
}
