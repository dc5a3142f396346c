"""Adapting a network to a scan: held-out samples decide, it repeats, and the given network is not touched."""

import copy
import logging
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from inference.checkpoints import tiny
from raw.made import coil_kspace, columns
from somamba.errors import ConfigError, InputError
from somamba.inference import adaptation
from somamba.inference.adaptation import NOTHING_MISSING, Adaptation, adapt
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.pretrained import Pretrained, load
from somamba.inference.reconstruct import NOT_ADAPTED, reconstruct
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.adaptations import ANOTHER, BEFORE, UNKNOWN
from somamba.inference.weights.trained import open_model, refinement_config, save_trained
from somamba.models.refined import Refined
from somamba.models.soft_sense import SoftSense
from somamba.physics.held_out import sampled_mask
from somamba.raw.formats.in_memory import raw_scan_of

FEW = Adaptation(steps=4, check_every=2, learning_rate=2e-3)
KEPT = Adaptation(steps=6, check_every=3, learning_rate=2e-3)
"""An adaptation that makes the network's own image better, and so is kept."""
KSPACE = columns(coil_kspace(), 2, 10)
OTHER = columns(coil_kspace() * np.exp(0.1j), 2, 10)


def scan(kspace=KSPACE):
    return raw_scan_of(kspace, axes=("slices", "coils", "y", "x")[-kspace.ndim :], centred=True)


def adapted(trained, settings=FEW, kspace=KSPACE, **options):
    return adapt(Preparation(scan(kspace), trained), trained, settings, **options)


def test_the_held_out_samples_are_never_predicted_worse_and_the_network_is_not_touched(tmp_path):
    trained = tiny(tmp_path)
    before = copy.deepcopy(trained.model.state_dict())
    found = adapted(trained)
    assert found.record["residual_after"] <= found.record["residual_before"] < math.inf
    assert all(torch.equal(value, before[name]) for name, value in trained.model.state_dict().items())
    if found.record["kept_step"]:
        assert found.trained.weights != trained.weights
        assert not found.trained.model.training


def test_a_step_that_only_does_harm_is_not_kept(tmp_path):
    trained = tiny(tmp_path)
    found = adapted(trained, Adaptation(steps=2, check_every=1, learning_rate=1e3))
    assert found.record["kept_step"] == 0
    assert found.trained is trained


def test_a_seed_names_everything_that_is_drawn(tmp_path, monkeypatch):
    drawn = []

    class Watched(SoftSense):
        def forward(self, y, A):
            if self.network.training:
                drawn.append(sampled_mask(A))
            return super().forward(y, A)

    monkeypatch.setattr(adaptation, "SoftSense", Watched)
    trained = tiny(tmp_path)
    one, again, other = (adapted(trained, settings) for settings in (FEW, FEW, Adaptation(**{**vars(FEW), "seed": 1})))
    assert one.trained.weights == again.trained.weights
    assert all(torch.equal(a, b) for a, b in zip(drawn[:4], drawn[4:8], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(drawn[:4], drawn[8:], strict=True))
    # What decides is the same for all seeds: the lines by which the last step is chosen, too.
    assert one.record["residual_before"] == other.record["residual_before"]


def test_it_stops_by_itself_when_nothing_gets_better(tmp_path):
    found = adapted(tiny(tmp_path), Adaptation(check_every=1, patience=2, learning_rate=1e3))
    assert found.record["steps_done"] == 2


def test_progress_tells_the_residual_and_the_time(tmp_path, caplog):
    seen = []
    with caplog.at_level(logging.INFO, logger=adaptation.__name__):
        adapted(tiny(tmp_path), on_progress=seen.append)
    assert [one.step for one in seen] == [0, 2, 4]
    assert seen[0].seconds_left == math.inf
    assert seen[-1].seconds_left == 0
    assert all(0 < one.residual < 2 for one in seen)
    assert "a step takes" in caplog.text


def test_a_volume_is_adapted_to_on_slices_spread_over_it_that_have_signal(tmp_path):
    volume = np.stack([KSPACE, KSPACE, np.zeros_like(KSPACE), KSPACE])
    found = adapted(tiny(tmp_path), Adaptation(steps=1, slices=2), volume)
    assert found.record["slices_used"] == [1, 3]
    assert adapted(tiny(tmp_path), Adaptation(steps=1, slices=1), volume).record["slices_used"] == [0]


def test_a_reconstruction_records_it(tmp_path):
    kept = []
    made = reconstruct(scan(), tiny(tmp_path), adaptation=FEW, on_adapted=kept.append)
    assert made.provenance["adaptation"]["steps_done"] == 4
    assert made.provenance["weights"] == kept[0].trained.weights
    assert reconstruct(scan(), tiny(tmp_path)).provenance["adaptation"] is None


def test_a_scan_of_which_nothing_is_missing_is_not_adapted_to(tmp_path, caplog):
    """The two outermost lines, which would be held out, are not what a network has to predict."""
    trained, seen, looks = tiny(tmp_path), [], []
    with caplog.at_level(logging.INFO, logger=adaptation.__name__):
        made = reconstruct(
            scan(coil_kspace()), trained, adaptation=FEW, on_adapting=looks.append, on_adapted=seen.append
        )
    assert seen[0].trained is trained
    assert not looks
    assert caplog.messages == [NOTHING_MISSING]
    record = made.provenance["adaptation"]
    assert (record["steps_done"], record["slices_used"], record["residual_before"]) == (0, [], None)
    assert record["outcome"] == NOTHING_MISSING
    assert made.provenance["weights"] == trained.weights
    assert NOT_ADAPTED in made.provenance["notes"]
    np.testing.assert_array_equal(made.images, reconstruct(scan(coil_kspace()), trained).images)


def test_of_a_volume_slices_without_gaps_are_not_adapted_to(tmp_path):
    found = adapted(tiny(tmp_path), Adaptation(steps=1, slices=2), np.stack([coil_kspace(), KSPACE]))
    assert found.record["slices_used"] == [1]


def test_the_outcome_is_said_in_words(tmp_path, caplog):
    trained = tiny(tmp_path)
    plain = Preparation(scan(), trained, RecoveryOptions(refine=False))
    with caplog.at_level(logging.INFO, logger=adaptation.__name__):
        harm = adapt(plain, trained, Adaptation(steps=2, check_every=1, learning_rate=1e3)).record
        gain = adapt(plain, trained, Adaptation(steps=6, check_every=3, learning_rate=2e-3)).record
    assert harm["outcome"] == "no gain on the held-out samples; the network is unchanged"
    before, after = gain["residual_before"], gain["residual_after"]
    assert gain["outcome"] == f"kept step {gain['kept_step']}: held-out residual {before:.4f} -> {after:.4f}"
    assert harm["outcome"] in caplog.messages
    assert caplog.messages[-1] == gain["outcome"]
    assert NOT_ADAPTED not in reconstruct(scan(), trained, adaptation=FEW).provenance["notes"]


def test_an_adapted_model_can_be_saved_and_opened_again(tmp_path):
    model = Pretrained(tiny(tmp_path), "cpu").adapt(KSPACE, axes=("coils", "y", "x"), centred=True, settings=FEW)
    model.save(tmp_path / "adapted")
    again = load(str(tmp_path / "adapted"), device="cpu")
    assert again.trained.weights == model.trained.weights
    assert model.adaptation["steps_done"] == 4
    options = {"axes": ("coils", "y", "x"), "centred": True}
    np.testing.assert_array_equal(again.reconstruct(KSPACE, **options), model.reconstruct(KSPACE, **options))


def test_a_model_without_weights_is_refused():
    with pytest.raises(InputError, match="no weights"):
        adapted(open_model("cg_sense"))


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"slices": 0}, {"hidden": 1.0}, {"learning_rate": 0.0}])
def test_settings_that_cannot_be_meant_are_refused(wrong):
    with pytest.raises(ConfigError):
        Adaptation(**wrong)


def test_the_lines_that_decide_are_never_shown_to_a_step(tmp_path, monkeypatch):
    shown = []

    class Watched(SoftSense):
        def forward(self, y, A):
            if self.network.training:
                shown.append(sampled_mask(A).any(dim=-2)[0, 0])
            return super().forward(y, A)

    monkeypatch.setattr(adaptation, "SoftSense", Watched)
    adapted(tiny(tmp_path))
    prepared = Preparation(scan(), tiny(tmp_path)).slice(0)
    mask = sampled_mask(prepared.measured.operator)[0, 0, 0]
    seen = torch.stack(shown).any(dim=0)
    assert len(shown) == 4
    assert not (seen & ~mask).any()
    assert (mask & ~seen).sum() >= 3, "lines outside of the block, and its edges"


def test_the_last_step_behind_an_adapted_network_is_chosen_by_the_lines_it_never_saw(tmp_path):
    trained = tiny(tmp_path)
    kept = replace(trained, config={**trained.config, "adaptation": {"steps_done": 4}})
    assert (refinement_config(trained).sets, refinement_config(kept).sets) == (2, 1)


def test_what_is_kept_are_the_weights_that_were_judged(tmp_path):
    trained = tiny(tmp_path)
    plain = Preparation(scan(), trained, RecoveryOptions(refine=False))
    found = adapt(plain, trained, KEPT)
    assert found.record["kept_step"] > 1
    again = adapt(plain, found.trained, Adaptation(steps=1))
    assert again.record["residual_before"] == pytest.approx(found.record["residual_after"], rel=1e-6)


def test_without_a_last_step_the_networks_own_image_is_judged(tmp_path):
    trained = tiny(tmp_path)
    plain = adapt(Preparation(scan(), trained, RecoveryOptions(refine=False)), trained, FEW)
    assert plain.record["residual_before"] != adapted(trained).record["residual_before"]


def saved(folder, trained, kspace=KSPACE):
    """Weights that were adapted to a scan, saved, and opened again."""
    plain = RecoveryOptions(refine=False)
    found = adapt(Preparation(scan(kspace), trained, plain), trained, KEPT)
    assert found.record["kept_step"] > 0
    save_trained(folder, found.trained)
    return found, open_model(str(folder))


def notes_of(made, *beginnings):
    return [note for note in made.provenance["notes"] if note.startswith(beginnings)]


def test_saved_weights_know_the_scan_that_they_were_adapted_to(tmp_path):
    trained = tiny(tmp_path)
    found, again = saved(tmp_path / "adapted", trained)
    own, other = (reconstruct(scan(kspace), again) for kspace in (KSPACE, OTHER))
    assert own.provenance["adaptation"] == other.provenance["adaptation"] == found.record
    assert load(str(tmp_path / "adapted"), device="cpu").adaptation == found.record
    assert found.record["parent"] == trained.weights
    assert notes_of(own, ANOTHER, BEFORE, UNKNOWN) == []
    (note,) = notes_of(other, ANOTHER, BEFORE, UNKNOWN)
    assert note.startswith(ANOTHER)
    assert trained.weights in note
    assert notes_of(reconstruct(scan(OTHER), trained), ANOTHER, BEFORE, UNKNOWN) == []


def test_a_scan_is_the_same_whatever_is_left_out_or_done_to_its_coils(tmp_path):
    """The samples that were acquired name it, not those that were used."""
    full = coil_kspace()
    noise_scan = np.random.default_rng(0).standard_normal((3, 400, 2)).view(complex)[..., 0]
    half, few = (Undersampling(acceleration=2, calibration=lines) for lines in (8, 10))
    trained = tiny(tmp_path)
    found = adapt(
        Preparation(raw_scan_of(full, noise=noise_scan, centred=True), trained, RecoveryOptions(undersampling=half)),
        trained,
        Adaptation(steps=1, slices=1),
    )
    kept = replace(trained, config={**trained.config, "adaptation": found.record})
    made = reconstruct(raw_scan_of(full, centred=True), kept, RecoveryOptions(undersampling=few))
    assert notes_of(made, ANOTHER, BEFORE, UNKNOWN) == []


def test_weights_that_are_adapted_again_keep_the_records_of_all_scans(tmp_path):
    trained = tiny(tmp_path)
    first, one = saved(tmp_path / "one", trained)
    second, two = saved(tmp_path / "two", one, OTHER)
    third, three = saved(tmp_path / "three", two, OTHER)
    plain = [{key: value for key, value in found.record.items() if key != "earlier"} for found in (first, second)]
    assert first.record["earlier"] == []
    assert three.config["adaptation"] == third.record
    assert third.record["earlier"] == plain
    parents = [record["parent"] for record in (*plain, third.record)]
    assert parents == [trained.weights, one.weights, two.weights]
    assert notes_of(reconstruct(scan(OTHER), three), ANOTHER, BEFORE) == [BEFORE]
    assert len(notes_of(reconstruct(scan(KSPACE), three), ANOTHER)) == 1


def test_an_adaptation_that_was_not_kept_is_no_history_of_the_weights(tmp_path):
    first, one = saved(tmp_path / "one", tiny(tmp_path))
    harm = adapted(one, Adaptation(steps=2, check_every=1, learning_rate=1e3))
    assert harm.record["kept_step"] == 0
    assert harm.trained.config["adaptation"] == first.record
    made = reconstruct(scan(), one, adaptation=Adaptation(steps=2, check_every=1, learning_rate=1e3))
    assert made.provenance["adaptation"]["kept_step"] == 0
    assert len(made.provenance["adaptation"]["earlier"]) == 1


def test_adapting_again_chooses_the_last_step_as_reconstruct_does(tmp_path, monkeypatch):
    """The first adaptation has seen all lines but those of the first set."""
    sets = []

    class Watched(Refined):
        def strengths(self, y, A):
            sets.append(self.config.sets)
            return super().strengths(y, A)

    monkeypatch.setattr(adaptation, "Refined", Watched)
    trained = tiny(tmp_path)
    adapted(trained, Adaptation(steps=1))
    adapted(replace(trained, config={**trained.config, "adaptation": {"steps_done": 4}}), Adaptation(steps=1))
    assert sets == [2, 1]
