"""Jobs go on after a bad one, skip what is there, and say how they ended."""

from dataclasses import replace

import h5py
import nibabel
import numpy as np
import pytest

from inference.checkpoints import save_tiny
from raw.made import coil_kspace, columns, write_cfl
from somamba.errors import DataError, InputError
from somamba.evaluation.metrics import score
from somamba.inference import jobs as module
from somamba.inference.adaptation import Adaptation
from somamba.inference.jobs import ReconstructionRequest, WorkerFactory, fingerprint, local
from somamba.inference.plan import plan
from somamba.inference.preparation import RecoveryOptions
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.checkpoint import has_checkpoint
from somamba.inference.weights.trained import open_weights
from somamba.inference.writers.writing import read_provenance

HALF = RecoveryOptions(undersampling=Undersampling(acceleration=2))
PLAIN = ReconstructionRequest(weights="zero_filled")


@pytest.fixture
def scan(tmp_path):
    np.save(tmp_path / "scan.npy", coil_kspace(1))
    return tmp_path / "scan.npy"


def run(jobs, request, **options):
    told = []
    factory = WorkerFactory(request=request, device="cpu", **options)
    outcomes = list(local(jobs, factory, lambda job, done, slices: told.append((job.source.name, done, slices))))
    return outcomes, told


def test_a_bad_file_does_not_stop_the_others(scan, tmp_path):
    (tmp_path / "bad.h5").write_bytes(b"no HDF5 at all")
    jobs = plan([str(tmp_path / "bad.h5"), str(tmp_path / "missing.npy"), str(scan)], tmp_path / "out", ["npy"])
    outcomes, told = run(jobs, PLAIN)
    assert [outcome.state for outcome in outcomes] == ["failed", "failed", "done"]
    assert "bad.h5" in outcomes[0].reason
    assert "No such file" in outcomes[1].reason
    assert told == [("scan.npy", 1, 1)]
    assert outcomes[2].slices == 1


def test_a_fault_of_our_own_does_not_stop_the_others_either(scan, tmp_path, monkeypatch):
    def wrong(*_arguments, **_options):
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr(module, "reconstruct", wrong)
    (outcome,), _ = run(plan([str(scan)], tmp_path / "out"), PLAIN)
    assert "ZeroDivisionError: nothing to divide by. This is not foreseen" in outcome.reason


def test_what_is_there_is_skipped_until_anything_changes(scan, tmp_path):
    jobs = plan([str(scan)], tmp_path / "out", ["npy", "h5"])

    def state(request):
        return run(jobs, request)[0][0].state

    assert [state(PLAIN), state(PLAIN)] == ["done", "there"]
    assert state(replace(PLAIN, again=True)) == "done"
    accelerated = replace(PLAIN, recovery=HALF)
    assert [state(accelerated), state(accelerated), state(PLAIN)] == ["done", "there", "done"]
    network = replace(PLAIN, weights=str(save_tiny(tmp_path / "weights")))
    assert [state(network), state(network)] == ["done", "there"]
    np.save(scan, 2 * coil_kspace(1))
    assert [state(network), state(network)] == ["done", "there"]
    (tmp_path / "out" / "scan.h5").unlink()
    assert [state(network), state(network)] == ["done", "there"]


def test_results_say_how_they_were_made(scan, tmp_path):
    jobs = plan([str(scan)], tmp_path / "out.npy")
    request = replace(PLAIN, recovery=HALF)
    (outcome,), _ = run(jobs, request, metric=score)
    record = read_provenance(tmp_path / "out.npy")
    assert record["request"]["input"] == fingerprint(scan)
    assert record["input"] == "scan.npy"
    assert record["code"]["torch"]
    assert record["scores"] == outcome.scores
    assert 10 < outcome.scores["zero_filled"]["psnr"] < 60
    (again,), _ = run(jobs, request, metric=score)
    assert (again.state, again.scores) == ("there", outcome.scores)


def test_scores_are_means_over_slices_with_signal(tmp_path):
    one = coil_kspace(1)
    np.save(tmp_path / "a.npy", np.stack([one, 0 * one, 5 * one]))
    request = ReconstructionRequest(weights=str(save_tiny(tmp_path / "w")), recovery=HALF)
    (outcome,), _ = run(plan([str(tmp_path / "a.npy")], tmp_path / "a_out.npy"), request, metric=score)
    assert outcome.state == "done", outcome.reason
    assert (outcome.slices, outcome.empty) == (3, 1)
    assert outcome.scores.keys() == {"so_mamba", "zero_filled"}
    assert outcome.scores["so_mamba"]["psnr"] != outcome.scores["zero_filled"]["psnr"]


def test_a_foreign_file_in_the_way_is_kept_and_told_before_any_work(scan, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scan.npy").write_bytes(b"precious")
    monkeypatch.setattr(module, "reconstruct", lambda *_a, **_o: pytest.fail("it was reconstructed"))
    (outcome,), _ = run(plan([str(scan)], tmp_path / "out", ["npy"]), PLAIN)
    assert outcome.state == "failed"
    assert "is not replaced by a result" in outcome.reason
    assert (tmp_path / "out" / "scan.npy").read_bytes() == b"precious"


def test_an_interrupt_ends_the_run_and_leaves_nothing_half(scan, tmp_path):
    def interrupted(_job, _done, _slices):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(local(plan([str(scan)], tmp_path / "out"), WorkerFactory(request=PLAIN, device="cpu"), interrupted))
    assert not (tmp_path / "out").exists()


def test_weights_that_are_not_there_are_one_error(scan, tmp_path):
    with pytest.raises(InputError, match="neither a checkpoint"):
        run(plan([str(scan)], tmp_path / "out"), ReconstructionRequest(weights="nothing"))


def test_both_files_of_a_pair_make_the_fingerprint(tmp_path):
    path = write_cfl(tmp_path / "a.cfl", columns(coil_kspace(), 2, 8), (24, 32, 1, 3))
    first = fingerprint(path)
    header = path.with_suffix(".hdr")
    header.write_text(header.read_text().replace("phantom", "other"))
    assert fingerprint(path) != first
    header.unlink()
    with pytest.raises(DataError, match=r"a\.hdr: cannot be read"):
        fingerprint(path)


def test_maps_are_part_of_what_decides_a_result(tmp_path):
    np.save(tmp_path / "maps.npy", coil_kspace())
    assert replace(PLAIN, maps=tmp_path / "maps.npy").options() != PLAIN.options()


def damage(path):
    """Zero the images of an HDF5 file; invert a byte near the end of any other."""
    if path.suffix == ".h5":
        with h5py.File(path, "r+") as file:
            file["reconstruction"][...] = 0
        return
    file = max(path.iterdir()) if path.is_dir() else path
    content = bytearray(file.read_bytes())
    content[content.index(b"IDAT") + 40 if path.suffix == ".png" else len(content) - 30] ^= 0x55
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["h5", "nii", "npy", "png", "dcm"])
def test_a_damaged_result_is_made_again_and_said(name, scan, tmp_path):
    jobs = plan([str(scan)], tmp_path / "out", [name])
    run(jobs, PLAIN)
    (path, _) = jobs[0].outputs[0]
    sound = {file.name: file.read_bytes() for file in sorted(path.iterdir() if path.is_dir() else [path])}
    assert run(jobs, PLAIN)[0][0].state == "there"
    damage(path)
    (outcome,), _ = run(jobs, PLAIN)
    assert outcome.state == "done"
    assert f"{path}: the result that was there is damaged; it was made again." in outcome.notes
    if name != "h5":
        assert {file.name: file.read_bytes() for file in (path.iterdir() if path.is_dir() else [path])} == sound
    assert run(jobs, PLAIN)[0][0].state == "there"


def test_a_single_dicom_file_for_a_stack_is_refused_before_any_computing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "reconstruct", None)
    np.save(tmp_path / "scan.npy", np.stack([coil_kspace(1)] * 2))
    (outcome,), _ = run(plan([str(tmp_path / "scan.npy")], tmp_path / "out.dcm"), PLAIN)
    assert "2 slices are 2 DICOM files. Name a folder" in outcome.reason


def test_patient_and_study_of_the_template_reach_the_results(scan, tmp_path):
    pydicom = pytest.importorskip("pydicom")
    run(plan([str(scan)], tmp_path / "template.dcm"), PLAIN)
    values = pydicom.dcmread(tmp_path / "template.dcm")
    values.PatientName, values.StudyInstanceUID = "Doe^Jane", "1.2.3"
    values.save_as(tmp_path / "template.dcm")
    request = replace(PLAIN, template=tmp_path / "template.dcm")
    jobs = plan([str(scan)], tmp_path / "out", ["dcm", "h5"])
    assert [run(jobs, request)[0][0].state for _ in range(2)] == ["done", "there"]
    found = pydicom.dcmread(tmp_path / "out" / "scan" / "0001.dcm")
    assert (str(found.PatientName), found.StudyInstanceUID) == ("Doe^Jane", "1.2.3")
    assert b"Doe" not in (tmp_path / "out" / "scan.h5").read_bytes()
    assert run(jobs, PLAIN)[0][0].state == "done"


def test_the_provenance_names_the_weights_and_an_unknown_voxel_size_is_said(scan, tmp_path):
    weights = str(save_tiny(tmp_path / "weights"))
    (outcome,), _ = run(plan([str(scan)], tmp_path / "a.nii.gz"), replace(PLAIN, weights=weights))
    assert read_provenance(tmp_path / "a.nii.gz")["weights_name"] == weights
    assert module.NO_VOXEL in outcome.notes
    assert nibabel.load(tmp_path / "a.nii.gz").header.get_xyzt_units()[0] == "unknown"
    (other,), _ = run(plan([str(scan)], tmp_path / "a.h5"), PLAIN)
    assert module.NO_VOXEL not in other.notes


def test_scores_are_computed_only_if_they_are_asked_for(scan, tmp_path, monkeypatch):
    def never(*_arguments):
        raise AssertionError("computed")

    monkeypatch.setattr("somamba.inference.reconstruct.RecoveredSlice.whole", never)
    monkeypatch.setattr("somamba.inference.reconstruct.RecoveredSlice.zero_filled", never)
    (outcome,), _ = run(plan([str(scan)], tmp_path / "a.h5"), PLAIN, metric=score)
    assert outcome.state == "done"


def test_the_progress_of_an_adaptation_is_told_with_its_job(tmp_path):
    np.save(tmp_path / "gaps.npy", columns(coil_kspace(3, 32, 40), 2, 10))
    told = []
    request = replace(
        PLAIN, weights=str(save_tiny(tmp_path / "weights")), adaptation=Adaptation(steps=2, check_every=1)
    )
    jobs = plan([str(tmp_path / "gaps.npy")], tmp_path / "a.npy")
    run(jobs, request, on_adapting=lambda job, found: told.append((job, found)))
    assert {job for job, _ in told} == set(jobs)
    assert [found.step for _, found in told[:-1]] == [0, 1, 2]
    assert told[-1][1].record["steps_done"] == 2


def test_weights_that_are_open_are_not_opened_again(scan, tmp_path, monkeypatch):
    trained = open_weights("zero_filled")
    monkeypatch.setattr(module, "open_weights", None)
    (outcome,), _ = run(plan([str(scan)], tmp_path / "a.h5"), PLAIN, trained=trained)
    assert outcome.state == "done"


def test_a_folder_of_somebody_else_is_no_place_for_an_adapted_network(scan, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "reconstruct", None)  # it is told before any work
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years of work")
    request = replace(PLAIN, adaptation=Adaptation(steps=1), save_adapted=tmp_path / "thesis")
    (outcome,), _ = run(plan([str(scan)], tmp_path / "a.npy"), request)
    assert "holds 'thesis.tex', so it is no checkpoint" in outcome.reason
    assert (tmp_path / "thesis" / "thesis.tex").read_text() == "years of work"


def test_a_result_that_is_there_does_not_keep_the_adapted_network_from_being_written(scan, tmp_path):
    jobs = plan([str(scan)], tmp_path / "a.npy")
    weights = str(save_tiny(tmp_path / "weights"))
    request = replace(PLAIN, weights=weights, adaptation=Adaptation(steps=1, slices=1))
    assert [run(jobs, request)[0][0].state for _ in range(2)] == ["done", "there"]
    kept = replace(request, save_adapted=tmp_path / "kept")
    assert run(jobs, kept)[0][0].state == "done"
    assert has_checkpoint(tmp_path / "kept")
