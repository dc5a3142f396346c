"""Mistakes in the recurrences, and in the order in which tokens are scanned."""

from mutants.mistake import Mistake

REFERENCE = "scan/test_reference.py"

MISTAKES = (
    Mistake(
        "the trapezoid is left out", "beta = (1 - mixing) * inputs.dt * alpha", "beta = 0 * mixing * alpha", REFERENCE
    ),
    Mistake(
        "the weight of the token before does not decay",
        "beta = (1 - mixing) * inputs.dt * alpha",
        "beta = (1 - mixing) * inputs.dt",
        REFERENCE,
    ),
    Mistake(
        "lambda is not a sigmoid",
        "mixing = torch.sigmoid(inputs.trap)\n    alpha",
        "mixing = torch.tanh(inputs.trap)\n    alpha",
        REFERENCE,
    ),
    Mistake(
        "the skip is left out",
        '"b t heads rank n, b t heads p n -> b t heads rank p") + inputs.D[:, None, None] * v',
        '"b t heads rank n, b t heads p n -> b t heads rank p")',
        REFERENCE,
    ),
    Mistake(
        "the gate is not a SiLU",
        "gate = silu(inputs.z[..., None, :] * inputs.mimo_z)",
        "gate = torch.sigmoid(inputs.z[..., None, :] * inputs.mimo_z)",
        REFERENCE,
    ),
    Mistake(
        "ranks are averaged",
        "readout = (y * gate * inputs.mimo_o).sum(dim=-2)",
        "readout = (y * gate * inputs.mimo_o).mean(dim=-2)",
        REFERENCE,
    ),
    Mistake("angles are not bounded", "math.pi * torch.tanh(angles).double()", "math.pi * angles.double()", REFERENCE),
    Mistake(
        "the rotation turns the other way",
        "torch.cat([first * cosine - second * sine, first_rest, first * sine + second * cosine, second_rest], dim=-1)",
        "torch.cat([first * cosine + second * sine, first_rest, second * cosine - first * sine, second_rest], dim=-1)",
        "scan/test_rotary.py",
    ),
    Mistake(
        "the bias of the interfaces is left out",
        "copies=bias.shape[0] // groups) + bias",
        "copies=bias.shape[0] // groups) + 0 * bias",
        REFERENCE,
    ),
    Mistake(
        "chunks forget the state that enters",
        "y = y + (q * from_start.repeat_interleave(rank, dim=-1)[..., None]) @ entering.mT",
        "y = y + 0 * (q * from_start.repeat_interleave(rank, dim=-1)[..., None]) @ entering.mT",
        "scan/test_chunked.py",
    ),
    Mistake(
        "a token weighs in its own read-out as in later ones",
        "weight = torch.diagonal_scatter(weight, now, dim1=-2, dim2=-1)",
        "weight = weight + 0 * now[..., None]",
        "scan/test_chunked.py",
    ),
    Mistake(
        "the selective state does not decay",
        "h = torch.exp(step * A) * h + step",
        "h = h + step",
        "scan/selective/test_reference.py",
    ),
    Mistake(
        "the selective step does not scale what is written",
        "* h + step * u.unflatten(1, (groups, -1))[..., None] * B[:, :, None]",
        "* h + u.unflatten(1, (groups, -1))[..., None] * B[:, :, None]",
        "scan/selective/test_reference.py",
    ),
    Mistake(
        "the selective scan has no skip",
        "readout = torch.stack(readouts, dim=1) + inputs.D * inputs.u",
        "readout = torch.stack(readouts, dim=1)",
        "scan/selective/test_reference.py",
    ),
    Mistake(
        "the way back is not turned round",
        "both = forward + backward.flip(1)",
        "both = forward + backward",
        "scan/selective/test_directions.py",
    ),
    Mistake(
        "columns are walked as rows",
        "torch.cat([rows, grid.transpose(1, 2).flatten(1, 2)], dim=-1)",
        "torch.cat([rows, rows], dim=-1)",
        "scan/selective/test_directions.py",
    ),
)
