"""What every network promises: any size and mode, measured input only, gradients everywhere, weights that travel."""

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load, save

from models.small import gradients, measure, perturb, shrink
from promises import relative_error
from somamba.errors import InputError, UnknownNameError
from somamba.evaluation.metrics import psnr
from somamba.models.base import Reconstructor
from somamba.models.so_mamba.variants import VARIANTS
from somamba.models.zoo import MODELS, build
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.encoding import encoding
from somamba.physics.fourier import ifft2c
from somamba.physics.masks import golden_radial

PAGES = Path(__file__).parents[2] / "docs" / "models"
MODES = {"single coil": {}, "coil channels": {"coils": 3}, "SENSE": {"coils": 3, "maps": True}}

# ISTA-Net+ ends in a learned correction; its last step towards the measurements comes before.
# CG-SENSE and l1-wavelet regularise: what was measured comes back a little darker, or sparser.
WITHOUT_WEIGHTS = ("zero_filled", "cg_sense", "l1_wavelet")
ENDS_ELSEWHERE = {"ista_net", "cg_sense", "l1_wavelet"}

every_model = pytest.mark.parametrize("name", MODELS)
every_model_that_learns = pytest.mark.parametrize("name", [n for n in MODELS if n not in WITHOUT_WEIGHTS])


def small(name, **changes):
    """In evaluation mode: dropout and statistics of the batch are for training."""
    torch.manual_seed(0)
    return perturb(build(name, shrink(MODELS[name].config, **changes))).eval()


def learns(network):
    return next(network.parameters(), None) is not None


def channels(mode):
    """Images that a network sees in a mode: one, or one for every coil."""
    return 1 if mode.get("maps") else mode.get("coils", 1)


def test_all_variants_of_the_paper_are_there():
    assert {"zero_filled", *VARIANTS} <= set(MODELS)


def test_an_unknown_model_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"No model is named 'so-mamba'\. Did you mean 'so_mamba'\?"):
        build("so-mamba")


@every_model
def test_an_entry_says_what_it_is_and_whose(name):
    assert len(MODELS[name].summary.split()) > 3
    assert re.match(r"\w+ (et al\.|and \w+), \w.{20}", MODELS[name].citation) or name == "zero_filled"


@every_model
def test_a_default_network_is_built_by_name(name):
    network = build(name)
    assert isinstance(network, Reconstructor)
    assert network.config == MODELS[name].config


@every_model
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(96, 96), (90, 70), (33, 47)], ids=str)
def test_any_size_in_every_mode(name, mode, size):
    images = channels(MODES[mode])
    network = small(name, coils=images, groups=1)
    y, A = measure(size, batch=2, **MODES[mode])
    with torch.no_grad():
        image = network(y, A)
    assert image.shape == (2, images, *size)
    assert image.dtype == torch.complex64
    assert image.isfinite().all()


@every_model
@pytest.mark.parametrize("mode", MODES)
def test_slices_of_a_batch_do_not_see_each_other(name, mode):
    network = small(name, coils=channels(MODES[mode]))
    (y0, A0), (y1, A1) = (measure(seed=seed, **MODES[mode]) for seed in (0, 1))
    masks = [A.factors[0].mask for A in (A0, A1)]
    maps = torch.cat([A.factors[-1].maps for A in (A0, A1)]) if MODES[mode].get("maps") else None
    with torch.no_grad():
        together = network(torch.cat([y0, y1]), encoding(torch.cat(masks), maps))
        alone = torch.cat([network(y0, A0), network(y1, A1)])
    assert relative_error(together, alone) < 1e-5


@every_model_that_learns
@pytest.mark.parametrize("mode", MODES)
def test_finite_gradients_reach_every_parameter(name, mode):
    network = small(name, coils=channels(MODES[mode]))
    parameters = dict(network.named_parameters())
    _, found = gradients(network, *measure(**MODES[mode]))
    assert [key for key in parameters if found[key] is None or not found[key].any()] == []
    assert [key for key in parameters if not found[key].isfinite().all()] == []


@every_model
def test_a_network_repeats_itself_bit_by_bit(name):
    network = small(name)
    y, A = measure()
    with torch.no_grad():
        assert torch.equal(network(y, A), network(y, A))
    if learns(network):
        (_, first), (_, second) = (gradients(network, y, A) for _ in range(2))
        assert all(torch.equal(first[key], second[key]) for key in first)


@every_model
def test_the_seed_alone_decides_the_initial_weights(name):
    def weights(seed):
        torch.manual_seed(seed)
        return build(name, shrink(MODELS[name].config)).state_dict()

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not first or any(not torch.equal(first[key], other[key]) for key in first)


@every_model
def test_weights_travel(name):
    network = small(name)
    y, A = measure()
    torch.manual_seed(1)
    other = build(name, shrink(MODELS[name].config)).eval()
    other.load_state_dict(load(save(network.state_dict())))
    with torch.no_grad():
        assert torch.equal(other(y, A), network(y, A))


@every_model
def test_double_precision_runs_through(name):
    network = small(name)
    y, A = measure()
    with torch.no_grad():
        single = network(y, A)
        double = network.double()(y.to(torch.complex128), A)
    assert double.dtype == torch.complex128
    assert relative_error(single, double) < 1e-4


@every_model
def test_the_measurements_are_not_changed(name):
    y, A = measure()
    before = y.clone()
    with torch.no_grad():
        small(name)(y, A)
    assert torch.equal(y, before)


@every_model
def test_inference_mode_gives_the_same(name):
    network = small(name)
    y, A = measure()
    with torch.no_grad():
        expected = network(y, A)
    with torch.inference_mode():
        assert torch.equal(network(y, A), expected)


def spoil(y, value):
    y = y.clone()
    y[0, 0, 3, 4] = value
    return y


HOSTILE = {
    "NaN": (lambda y, A: (spoil(y, torch.nan), A), "1 of 252 samples are NaN or infinite"),
    "infinite": (lambda y, A: (spoil(y, torch.inf), A), "1 of 252 samples are NaN or infinite"),
    "real": (lambda y, A: (y.real, A), "complex64 or complex128, got torch.float32"),
    "half precision": (lambda y, A: (y.real.bfloat16(), A), "complex64 or complex128, got torch.bfloat16"),
    "without a coil axis": (lambda y, A: (y[:, 0], A), r"y\[:, None\]"),
    "of another width": (lambda y, A: (y[..., :-1].contiguous(), A), "disagree in batch, y or x"),
    "of another batch": (lambda y, _A: (y.expand(3, -1, -1, -1), measure(batch=2)[1]), "disagree in batch, y or x"),
}


@every_model
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_measurements_are_refused_in_words(name, kind):
    change, message = HOSTILE[kind]
    with pytest.raises(InputError, match=message):
        small(name)(*change(*measure()))


@every_model
def test_coils_at_odds_with_the_maps_are_refused(name):
    y, A = measure(coils=3, maps=True)
    with pytest.raises(InputError, match="maps of 3 coils, the measurements have 2"):
        small(name)(y[:, :2], A)


def test_an_empty_mask_is_refused_before_a_network_sees_it():
    with pytest.raises(InputError, match="Empty mask: nothing is acquired"):
        encoding(torch.zeros(14, 18, dtype=torch.bool))


@every_model
@pytest.mark.parametrize("of_network", [torch.float32, torch.float64], ids=str)
def test_measurements_of_another_precision_than_the_weights_are_refused_in_words(name, of_network):
    network = small(name).to(of_network)
    y, A = measure()
    other = y.to(torch.complex128 if of_network == torch.float32 else torch.complex64)
    if not learns(network):
        assert network(other, A).dtype == other.dtype
        return
    with pytest.raises(InputError, match=r"complex64.*complex128|complex128.*complex64"):
        network(other, A)


@every_model
def test_all_zero_measurements_give_a_finite_image_and_gradient(name):
    network = small(name)
    y, A = measure()
    image = network(torch.zeros_like(y), A)
    assert image.isfinite().all()
    if learns(network):
        _, found = gradients(network, torch.zeros_like(y), A)
        assert all(gradient.isfinite().all() for gradient in found.values())


def test_zero_filled_is_the_adjoint():
    for mode in MODES.values():
        y, A = measure(**mode)
        assert torch.equal(build("zero_filled")(y, A), A.adjoint(y))


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ENDS_ELSEWHERE])
@pytest.mark.parametrize("mode", ["single coil", "coil channels"])
def test_the_measured_samples_come_back_where_a_network_ends_in_data_consistency(name, mode):
    network = small(name, coils=channels(MODES[mode]), mode="+dc")
    y, A = measure((33, 47), batch=2, **MODES[mode])
    with torch.no_grad():
        assert relative_error(A(network(y, A)), y) < 1e-5


BEHIND_A_SWITCH = [("hifi_mamba", {"variant": "release"}), ("lmo", {"feature_dc": "magnitude"})]


@pytest.mark.parametrize(("name", "changes"), [*((name, {}) for name in MODELS), *BEHIND_A_SWITCH], ids=str)
def test_autocast_reaches_the_layers_and_not_the_physics(name, changes):
    """Layers in bfloat16 stay near float32, measured samples come back exactly, and all gradients are finite."""
    network = small(name, mode="+dc", **changes)
    y, A = measure((33, 47))
    with torch.no_grad():
        precise = network(y, A)
    with torch.autocast("cpu", torch.bfloat16):
        image = network(y, A)
    assert image.dtype == torch.complex64
    assert (image - precise).norm() < 0.05 * precise.norm()
    if name not in ENDS_ELSEWHERE:
        assert relative_error(A(image).detach(), y) < 1e-5
    if learns(network):
        assert not torch.equal(image, precise)
        image.abs().sum().backward()
        assert all(parameter.grad.isfinite().all() for parameter in network.parameters())


@pytest.fixture(scope="module")
def four_pictures(sample):
    """The quarters of the real head, 32 x 32 pixels each, 8 times undersampled: measurements, operator, targets."""
    head = root_sum_of_squares(ifft2c(sample[None, :, 80:144, 80:144]))
    quarters = torch.stack([head[0, :, y : y + 32, x : x + 32] for y in (0, 32) for x in (0, 32)])
    target = quarters / quarters.amax(dim=(1, 2, 3), keepdim=True)
    A = encoding(golden_radial(32, 4).tensor())
    return A(target.to(torch.complex64)), A, target


def mean_psnr(images, target):
    pairs = zip(root_sum_of_squares(images)[:, 0], target[:, 0], strict=True)
    return sum(psnr(found, wanted) for found, wanted in pairs) / len(target)


# Mamba-UNet draws its image from patches alone, without the input beside it: four channels cannot hold four pictures.
LEARNS_WITH = {"mamba_unet": {"channels": 32, "drop_path": 0.0}}


@every_model_that_learns
def test_a_few_steps_on_four_real_pictures_beat_the_zero_filled_image(name, four_pictures):
    y, A, target = four_pictures
    torch.manual_seed(0)
    network = build(name, shrink(MODELS[name].config, **LEARNS_WITH.get(name, {})))
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    wanted = mean_psnr(A.adjoint(y), target) + 0.5
    found = 0.0
    for step in range(1, 101):
        optimiser.zero_grad()
        F.l1_loss(root_sum_of_squares(network.train()(y, A)), target).backward()
        optimiser.step()
        if step % 10 == 0:  # the sooner the better: some need 20 steps, some 60
            with torch.no_grad():
                found = mean_psnr(network.eval()(y, A), target)
            if found > wanted:
                break
    assert found > wanted


@pytest.mark.parametrize("name", [name for name in MODELS if name not in {"zero_filled", *VARIANTS}])
def test_a_compared_method_has_its_page_and_its_row_in_the_index(name):
    assert (PAGES / f"{name}.md").is_file()
    assert f"({name}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")
