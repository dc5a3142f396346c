"""The Mamba-3 MIMO recurrence, one token at a time. This file is the definition; other backends must agree with it.

h  state, ``(heads, p, n)`` numbers a token       q, k  C and B with bias and rotation
v  content lifted to ``rank`` inputs              lambda  trapezoidal mixing coefficient
"""

import torch
from einops import einsum
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import silu

from somamba.scan.inputs import ScanInputs, ScanOutput
from somamba.scan.rotary import per_head, phases, rotate


def scan_reference(inputs: ScanInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run ``h[t] = alpha h[t-1] + beta k[t-1] v[t-1] + gamma k[t] v[t]``, read ``q[t] h[t]``, skip, gate, contract."""
    phase = phases(inputs.angles, inputs.dt)[:, :, :, None]
    cosine, sine = phase.cos(), phase.sin()
    q = rotate(per_head(inputs.C, inputs.C_bias), cosine, sine)
    k = rotate(per_head(inputs.B, inputs.B_bias), cosine, sine)
    v = inputs.x[..., None, :] * inputs.mimo_x
    written = einsum(k, v, "b t heads rank n, b t heads rank p -> b t heads p n")

    mixing = torch.sigmoid(inputs.trap)
    alpha = torch.exp(inputs.adt)
    beta = (1 - mixing) * inputs.dt * alpha
    gamma = mixing * inputs.dt

    states = _recur(written, alpha[..., None, None], beta[..., None, None], gamma[..., None, None])
    y = einsum(q, states, "b t heads rank n, b t heads p n -> b t heads rank p") + inputs.D[:, None, None] * v
    gate = silu(inputs.z[..., None, :] * inputs.mimo_z)
    readout = (y * gate * inputs.mimo_o).sum(dim=-2)
    return ScanOutput(readout, states if keep_states else None)


def _recur(
    written: Float[Tensor, "b t heads p n"],
    alpha: Float[Tensor, "b t heads 1 1"],
    beta: Float[Tensor, "b t heads 1 1"],
    gamma: Float[Tensor, "b t heads 1 1"],
) -> Float[Tensor, "b t heads p n"]:
    # unbind first: indexing x[:, t] inside the loop makes autograd quadratic in the length.
    h = before = torch.zeros_like(written[:, 0])
    states = []
    for now, a, b, c in zip(*(tensor.unbind(dim=1) for tensor in (written, alpha, beta, gamma)), strict=True):
        h = a * h + b * before + c * now
        before = now
        states.append(h)
    return torch.stack(states, dim=1)
