"""The selective recurrence, one token at a time. This file is the definition; other backends must agree with it."""

import torch

from somamba.scan.inputs import ScanOutput
from somamba.scan.selective.inputs import SelectiveInputs


def selective_reference(inputs: SelectiveInputs, *, keep_states: bool = False) -> ScanOutput:
    """Run ``h[t] = exp(dt[t] A) h[t-1] + dt[t] B[t] u[t]`` and read ``C[t] . h[t] + D u[t]``."""
    groups = inputs.B.shape[2]
    A = inputs.A.unflatten(0, (groups, -1))
    h = inputs.u.new_zeros(inputs.u.shape[0], *A.shape)
    readouts, states = [], []
    # unbind first: indexing u[:, t] inside the loop makes autograd quadratic in the length.
    for u, dt, B, C in zip(*(tensor.unbind(1) for tensor in (inputs.u, inputs.dt, inputs.B, inputs.C)), strict=True):
        step = dt.unflatten(1, (groups, -1))[..., None]
        h = torch.exp(step * A) * h + step * u.unflatten(1, (groups, -1))[..., None] * B[:, :, None]
        readouts.append((h * C[:, :, None]).sum(dim=-1).flatten(1))
        if keep_states:
            states.append(h.flatten(1, 2))
    readout = torch.stack(readouts, dim=1) + inputs.D * inputs.u
    return ScanOutput(readout, torch.stack(states, dim=1) if keep_states else None)
