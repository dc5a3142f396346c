"""The network as a whole: unrolled, consistent with the data after every group, the same on every path through it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from models.definitions import channels, joined, layer_normed
from models.small import SMALL, gradients, measure, perturb
from native.machine import needs_native
from promises import relative_error
from somamba.errors import InputError
from somamba.models.so_mamba.config import Routes, SOMambaConfig
from somamba.models.so_mamba.model import Decoder, Embedding, SOMamba
from somamba.physics.encoding import encoding


def build(config=SMALL, **changes):
    torch.manual_seed(0)
    return perturb(SOMamba(replace(config, **changes)))


def test_the_default_network_has_the_parameters_of_the_paper():
    count = sum(parameter.numel() for parameter in SOMamba().parameters())
    assert count == 1_811_352
    assert count == pytest.approx(1.81e6, rel=0.01)


def test_an_untrained_network_returns_the_zero_filled_image():
    y, A = measure(batch=2)
    with torch.no_grad():
        torch.testing.assert_close(SOMamba(SMALL)(y, A), A.adjoint(y))


@pytest.mark.parametrize("patch", [1, 2, 3])
def test_the_embedding_is_a_convolution_with_kernel_and_stride_of_the_patch(patch, rng):
    embed = Embedding(2, patch, 5)
    image = torch.randn(2, 4, 6, 12, generator=rng)
    weight = embed.project.weight.view(5, 4, patch, patch)
    expected = F.conv2d(image, weight, embed.project.bias, stride=patch).permute(0, 2, 3, 1)
    torch.testing.assert_close(embed(image), F.layer_norm(expected, (5,), embed.norm.weight, embed.norm.bias))


@pytest.mark.parametrize("patch", [1, 2, 3])
def test_the_decoder_is_a_pixel_shuffle(patch, rng):
    decode = perturb(Decoder(2, patch, 5))
    features = torch.randn(2, 4, 6, 5, generator=rng)
    expected = F.pixel_shuffle(decode.project(decode.norm(features)).permute(0, 3, 1, 2), patch)
    torch.testing.assert_close(decode(features), expected)


MODES = {"single coil": ({}, {}), "coil channels": ({"coils": 3}, {"coils": 3})}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(14, 18), (15, 17)], ids=str)
def test_measured_samples_are_kept_after_every_group(mode, size):
    config, scan = MODES[mode]
    network = build(groups=3, **config)
    y, A = measure(size, batch=2, **scan)
    images = []
    for group in network.groups:
        group.register_forward_hook(lambda _group, _args, out: images.append(out[0]))
    with torch.no_grad():
        network(y, A)
    assert len(images) == 3
    for image in images:
        assert relative_error(A(image), y) < 2e-6
    assert relative_error(images[0], A.adjoint(y)) > 1e-2  # and yet each group has done something
    assert relative_error(images[2], images[1]) > 1e-2


def test_sensitivity_maps_bring_the_image_closer_to_the_data_in_every_group():
    network = build(groups=2)
    y, A = measure(coils=3, maps=True)
    residuals = []
    for group in network.groups:
        group.consistency.register_forward_hook(
            lambda _module, args, out: residuals.append([(y - A(x)).norm().item() for x in (args[0], out)])
        )
    with torch.no_grad():
        network(y, A)
    assert all(after < 0.3 * before for before, after in residuals)


@needs_native
def test_compiled_kernels_and_pytorch_alone_agree(request):
    network = build()
    y, A = measure((15, 18), batch=2)
    image, found = gradients(network, y, A)
    request.getfixturevalue("without_native")
    plain, expected = gradients(network, y, A)
    assert not torch.equal(image, plain)  # two paths were taken
    assert relative_error(image, plain) < 2e-5
    wrong = {name: relative_error(found[name], expected[name]) for name in found}
    assert {name: error for name, error in wrong.items() if not error < 2e-4} == {}


@pytest.mark.parametrize(
    "changes", [{}, {"carry_features": True, "units": 2, "scan_orders": ("rows", "columns_reversed")}], ids=str
)
def test_recomputation_changes_neither_image_nor_gradients(changes):
    y, A = measure()
    (image, found), (again, recomputed) = (
        gradients(build(recompute=recompute, **changes).train(), y, A) for recompute in (False, True)
    )
    assert torch.equal(image, again)
    assert all(torch.equal(found[name], recomputed[name]) for name in found)


def test_recomputation_forgets_the_activations_of_a_unit():
    def kept(recompute):
        network = build(recompute=recompute).train()
        y, A = measure()
        saved = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t.numel()) or t, lambda t: t):
            network(y, A)
        return sum(saved)

    assert kept(recompute=True) < 0.5 * kept(recompute=False)


SWITCHES = {
    "pointwise projection": {"router": replace(SMALL.router, projection="pointwise")},
    "stride": {"router": replace(SMALL.router, compaction="stride")},
    "linear modulation": {"interface": replace(SMALL.interface, hidden=0)},
    "learned strengths": {"interface": replace(SMALL.interface, learned_strengths=True)},
    "modulation before the norm": {"interface": replace(SMALL.interface, position="before_norm")},
    "strong scale, no shift": {"interface": replace(SMALL.interface, scale=0.5, shift=0.0)},
    "full rotary": {"mixer": replace(SMALL.mixer, rope_fraction=1.0)},
    "softplus decay": {"mixer": replace(SMALL.mixer, decay="softplus")},
    "tied decay": {"mixer": replace(SMALL.mixer, tie_decay=True)},
    "tied interfaces": {"mixer": replace(SMALL.mixer, tie_interfaces=True)},
    "odd mixer": {"mixer": replace(SMALL.mixer, expand=3, rank=3, groups=3, d_state=7)},
    "patch 1": {"patch": 1},
    "patch 4": {"patch": 4},
    "two orders": {"units": 2, "scan_orders": ("rows", "columns")},
    "reversed orders": {"units": 3, "scan_orders": ("rows_reversed", "columns_reversed")},
    "carried features": {"carry_features": True},
    "separate output projection": {"output_projection": "separate"},
    "inverted bottleneck": {"outlet_ratio": 2},
    "soft consistency": {"consistency": "soft"},
    "proximal consistency": {"consistency": "proximal"},
    "weighted samples": {"consistency": "proximal", "weighted_samples": True},
    "residency by a 1x1": {"routes": Routes(residency="full"), "residency_mix": "concat"},
    "residency by channel": {"routes": Routes(residency="learned_channel")},
    "residency by token": {"routes": Routes(residency="learned_token")},
    "residency by unit": {"routes": Routes(residency="learned_unit")},
    "residency by a sum": {"routes": Routes(residency="full"), "residency_mix": "sum"},
    "other widths": {"channels": 16, "d_model": 4, "mixer": replace(SMALL.mixer, d_head=2)},
}
SAME_NUMBERS = {
    "hard consistency": {"consistency": "hard"},
    "chunked backend": {"mixer": replace(SMALL.mixer, backend="chunked")},
    "reference backend": {"mixer": replace(SMALL.mixer, backend="reference")},
    "recomputation": {"recompute": True},
}


@pytest.mark.parametrize("name", SWITCHES | SAME_NUMBERS)
def test_every_switch_builds_runs_and_trains(name):
    network = build(**(SWITCHES | SAME_NUMBERS)[name])
    y, A = measure((13, 15))
    image, found = gradients(network, y, A)
    assert image.shape == (1, 1, 13, 15)
    assert image.isfinite().all()
    assert [key for key, gradient in found.items() if gradient is None or not gradient.any()] == []
    assert all(gradient.isfinite().all() for gradient in found.values())


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_changes_the_result_of_the_same_seed(name):
    y, A = measure((13, 15))
    with torch.no_grad():
        assert relative_error(build(**SWITCHES[name])(y, A), build()(y, A)) > 1e-4


@pytest.mark.parametrize("name", SAME_NUMBERS)
def test_other_ways_to_the_same_numbers(name):
    y, A = measure((13, 15))
    with torch.no_grad():
        assert relative_error(build(**SAME_NUMBERS[name])(y, A), build()(y, A)) < 1e-5


def test_unit_i_takes_order_i_again_from_the_first():
    network = SOMamba(replace(SMALL, groups=1, units=3, scan_orders=("rows", "columns")))
    assert [unit.block.order for unit in network.groups[0].units] == ["rows", "columns", "rows"]


@pytest.mark.parametrize(("patch", "smallest"), [(1, 3), (2, 5), (4, 9)])
def test_the_smallest_image_runs_and_a_smaller_one_is_refused(patch, smallest):
    network = build(patch=patch)
    y, A = measure((smallest, smallest))
    with torch.no_grad():
        assert network(y, A).isfinite().all()
        for size in ((smallest - 1, smallest), (smallest, smallest - 1)):
            with pytest.raises(InputError, match=f"at least {smallest}x{smallest}, got {size[0]}x{size[1]}"):
                network(*measure(size))


def test_coils_that_the_network_was_not_built_for_are_refused_with_the_remedies():
    y, A = measure(coils=3)
    with pytest.raises(InputError, match=r"built for 1 image channel\(s\), the operator gives 3") as caught:
        build()(y, A)
    assert "sensitivity maps" in str(caught.value)
    with pytest.raises(InputError, match="built for 3"):
        build(coils=3)(*measure())
    with pytest.raises(InputError, match="built for 3"):
        build(coils=3)(*measure(coils=3, maps=True))


def test_hard_consistency_with_overlapping_coils_is_refused():
    with pytest.raises(InputError, match="Use 'proximal'"):
        build(consistency="hard")(*measure(coils=3, maps=True))


def test_the_default_configuration_is_taken_where_none_is_given():
    assert SOMamba().config == SOMambaConfig()


def test_a_fully_sampled_scan_comes_back_unchanged():
    y, _ = measure()
    A = encoding(torch.ones(18))
    with torch.no_grad():
        assert relative_error(build()(y, A), A.adjoint(y)) < 1e-5


def next_by_definition(group, x, y, A, carried):
    """Eq. 2 written out: ``z = x + Psi(units(Phi(x)))`` and ``x' = DC(z, y, A)``; the units themselves are called."""
    patch, (height, width) = group.embed.patch, x.shape[-2:]
    real = F.pad(channels(x), (0, -width % patch, 0, -height % patch), mode="replicate")
    size = group.embed.project.weight.shape[0]
    kernel = group.embed.project.weight.view(size, real.shape[1], patch, patch)
    features = F.conv2d(real, kernel, group.embed.project.bias, stride=patch).permute(0, 2, 3, 1)
    features = layer_normed(group.embed.norm, features)
    features = features if carried is None else features + carried
    for unit in group.units:
        features = unit(features)
    pixels = F.linear(layer_normed(group.decode.norm, features), *group.decode.project.parameters())
    update = F.pixel_shuffle(pixels.permute(0, 3, 1, 2), patch)[..., :height, :width]
    z = x + joined(update)
    mask = A.factors[0].mask
    spectrum = torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(z, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))
    kept = torch.where(mask, y, spectrum)
    image = torch.fft.fftshift(torch.fft.ifft2(torch.fft.ifftshift(kept, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))
    return image, features


@torch.no_grad()
@pytest.mark.parametrize(("patch", "coils", "carry"), [(2, 1, False), (3, 2, False), (2, 1, True)])
def test_a_group_is_what_the_paper_says_of_a_stage(patch, coils, carry):
    network = build(groups=3, units=2, patch=patch, coils=coils, carry_features=carry).double()
    y, A = measure((13, 16), batch=2, coils=coils)
    y = y.to(torch.complex128)
    x, carried = A.adjoint(y), None
    for group in network.groups:
        expected, features = next_by_definition(group, x, y, A, carried)
        found, given = group(x, y, A, carried)
        assert relative_error(expected, x) > 1e-2  # the stage has done something
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(given, features, rtol=1e-10, atol=1e-10)
        x, carried = expected, features if carry else None
    torch.testing.assert_close(network(y, A), x, rtol=1e-9, atol=1e-9)


@torch.no_grad()
def test_with_sensitivity_maps_a_group_ends_in_the_proximal_step():
    network = build(groups=1, consistency="proximal").double()
    y, A = measure((12, 14), coils=3, maps=True)
    y = y.to(torch.complex128)
    group, zs = network.groups[0], []
    group.consistency.register_forward_pre_hook(lambda _module, args: zs.append(args[0]))
    image = network(y, A)
    strength = F.softplus(group.consistency.raw_strength)
    x, z = A.adjoint(y), zs[0]
    units = group.units[0](group.embed(channels(x)))
    torch.testing.assert_close(z, x + joined(group.decode(units)), rtol=1e-10, atol=1e-10)
    residual = A.adjoint(A(image)) + strength * image - A.adjoint(y) - strength * z
    assert residual.norm() < 1e-3 * (A.adjoint(y) + strength * z).norm()


def test_compiled_units_give_what_the_layers_give_and_keep_their_names():
    """In a process of its own, because a compiler cannot look into the shape checks of the tests."""
    script = Path(__file__).with_name("compiled_units.py")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
