"""The mixer: the low band is the content, the high band reaches the interfaces B and C and nothing else."""

import torch
import torch.nn.functional as F

from models.small import perturb
from somamba.models.hifi_mamba.mixer import Mixer, SimpleGate, TokenFilter


def make_mixer():
    torch.manual_seed(0)
    return perturb(Mixer(4, 3, 0.1, "auto")).eval()


def scan_inputs(mixer, low, high):
    seen = []
    handle = mixer.selective.scan.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    mixer(low, high)
    handle.remove()
    return seen[0]


def test_the_high_band_reaches_the_interfaces_only(rng):
    mixer = make_mixer()
    low, one, other = (torch.randn(1, 4, 5, 4, generator=rng) for _ in range(3))
    first, second = scan_inputs(mixer, low, one), scan_inputs(mixer, low, other)
    assert first.u.equal(second.u)
    assert first.dt.equal(second.dt)
    assert not torch.allclose(first.B, second.B)
    assert not torch.allclose(first.C, second.C)


def test_interfaces_are_sums_of_both_bands_filtered_along_the_raster(rng):
    mixer = make_mixer()
    low, high = (torch.randn(1, 4, 5, 4, generator=rng) for _ in range(2))
    inputs = scan_inputs(mixer, low, high)
    evidence = mixer.evidence.in_proj(high).flatten(1, 2) @ mixer.evidence.select_weight.mT
    steps, B, C = mixer.selective.select(inputs.u)
    B = B + mixer.evidence.gate_B(evidence[:, :, None, :3])
    C = C + mixer.evidence.gate_C(evidence[:, :, None, 3:])
    torch.testing.assert_close(inputs.B, mixer.filter_B(B))
    torch.testing.assert_close(inputs.C, mixer.filter_C(C))
    raw = mixer.filter_steps(steps)[:, :, 0] @ mixer.selective.dt_weight[0].mT
    torch.testing.assert_close(inputs.dt, F.softplus(raw + mixer.selective.dt_bias))


def test_tokens_are_scanned_once_row_by_row(rng):
    mixer = make_mixer()
    low = torch.randn(1, 4, 5, 4, generator=rng)
    inputs = scan_inputs(mixer, low, torch.zeros(1, 4, 5, 4))
    content = mixer.filter(mixer.in_proj(low).chunk(2, dim=-1)[0])
    torch.testing.assert_close(inputs.u, content.flatten(1, 2))


def test_the_token_filter_has_seven_taps_two_tokens_apart():
    impulse = torch.zeros(1, 30, 1, 1)
    impulse[0, 15] = 1
    response = TokenFilter(1)(impulse)[0, :, 0, 0]
    assert response.nonzero().flatten().tolist() == [9, 11, 13, 15, 17, 19, 21]


def test_the_gate_multiplies_two_halves(rng):
    gate = SimpleGate(3)
    assert (gate.widen.out_features, gate.narrow.in_features) == (36, 18)
    interface = torch.randn(1, 7, 1, 3, generator=rng)
    hidden = interface @ gate.widen.weight.mT
    expected = (F.gelu(hidden[..., :18]) * hidden[..., 18:]) @ gate.narrow.weight.mT
    torch.testing.assert_close(gate(interface), expected)
