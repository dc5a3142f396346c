"""Inputs become jobs: each scan once, each result in one place, no scan replaced."""

import subprocess
import sys
from pathlib import Path

import pytest

from somamba.errors import ConfigError, DataError, MissingExtraError, StorageError
from somamba.inference.plan import OUTPUT_ENDINGS, format_of, output_name, plan, shard
from somamba.inference.writers.writing import FORMATS
from somamba.raw.naming import ENDINGS
from somamba.raw.opening import OPENERS


@pytest.fixture
def scans(tmp_path):
    folder = tmp_path / "scans"
    for name in ("a.h5", "b.npy", "deep/a.h5", "ksp.cfl", "ksp.hdr", "notes.txt", ".hidden.h5", "x.nii.gz"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def places(jobs):
    return {job.source.name: [str(path) for path, _ in job.outputs] for job in jobs}


def test_one_scan_goes_into_one_file(tmp_path):
    (job,) = plan(["scan.h5"], tmp_path / "out.nii.gz")
    assert job.outputs == ((tmp_path / "out.nii.gz", "nii"),)
    assert plan(["scan.h5"], tmp_path / "out.png", ["png"])[0].outputs[0].format == "png"


def test_a_folder_gets_every_format_of_every_scan(scans):
    jobs = plan([str(scans / "a.h5"), str(scans / "x.nii.gz")], Path("out"), ["nii", "png", "dcm", "png"])
    assert places(jobs) == {
        "a.h5": ["out/a.nii.gz", "out/a.png", "out/a"],
        "x.nii.gz": ["out/x.nii.gz", "out/x.png", "out/x"],
    }


def test_results_of_a_folder_keep_their_place(scans):
    (scans / "out").mkdir()
    (scans / "out" / "earlier.h5").touch()
    jobs = plan([str(scans)], scans / "out")
    assert [str(job.outputs[0].path.relative_to(scans / "out")) for job in jobs] == [
        "a.h5", "b.h5", "deep/a.h5", "ksp.h5", "x.h5"
    ]  # fmt: skip


def test_patterns_are_expanded(scans, monkeypatch):
    monkeypatch.chdir(scans)
    found = places(plan(["*.npy", f"{scans}/**/deep/*.h5"], Path("out"), ["npy"]))
    assert found == {"b.npy": ["out/b.npy"], "a.h5": ["out/a.npy"]}
    with pytest.raises(DataError, match="no file matches"):
        plan(["*.mrd"], Path("out"))


def test_a_scan_that_is_named_twice_is_one_job(scans):
    assert len(plan([str(scans / "ksp.hdr"), str(scans / "ksp"), str(scans / "ksp.cfl")], Path("out"))) == 1


def test_a_missing_file_is_a_job_that_will_fail(tmp_path):
    assert len(plan([str(tmp_path / "missing.h5")], Path("out"))) == 1


@pytest.mark.parametrize(
    ("inputs", "output", "formats", "words"),
    [
        (["a.h5", "b.npy"], "out.h5", [], "one file, for 2 scans"),
        (["a.h5"], "out.h5", ["h5", "png"], "one file, for 2 formats"),
        (["a.h5"], "out.h5", ["png"], "must end in .png"),
        (["a.h5", "deep/a.h5"], "out", [], "would both be written to out/a.h5"),
        (["a.h5"], "", ["h5"], "is a scan and would be replaced"),
        (["a.h5"], "notes.txt", [], "is a file and not a folder"),
        ([""], "", [], "taken for scans the next time"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(scans, monkeypatch, inputs, output, formats, words):
    monkeypatch.chdir(scans)
    with pytest.raises(ConfigError, match=words):
        plan(inputs, Path(output), formats)


def test_a_folder_without_scans_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no scan"):
        plan([str(tmp_path)], Path("out"))


def test_shards_have_each_job_once(scans):
    jobs = plan([str(scans)], Path("out"))
    parts = [shard(jobs, number, 3) for number in (1, 2, 3)]
    assert sorted(str(job.source) for part in parts for job in part) == sorted(str(job.source) for job in jobs)
    for number in (0, 4):
        with pytest.raises(ConfigError, match=f"Shard {number}/3 is none"):
            shard(jobs, number, 3)


def test_planning_imports_no_torch():
    code = "import sys, somamba.inference.plan; assert not {'torch', 'nibabel', 'h5py'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_ending_has_a_reader():
    assert set(ENDINGS) == set(OPENERS)


@pytest.mark.parametrize("name", ["x.mat", "x.jpg", "deep/x.tiff", "x.nii.bz2", "x.NII"])
def test_a_name_that_stands_for_no_format_is_not_taken_for_a_folder(name, tmp_path):
    with pytest.raises(ConfigError, match=r"its ending tells no format.*make it first"):
        plan(["scan.h5"], tmp_path / name)
    (tmp_path / name).mkdir(parents=True)
    assert plan(["scan.h5"], tmp_path / name)[0].outputs[0].path == tmp_path / name / "scan.h5"


@pytest.mark.parametrize("name", ["results", "results.2026", "v1.10", ".hidden", "run.final_version"])
def test_names_of_folders_are_names_of_folders(name, tmp_path):
    assert plan(["scan.h5"], tmp_path / name)[0].outputs[0].path == tmp_path / name / "scan.h5"


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_opened(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file' is not a folder"):
        plan(["scan.h5"], tmp_path / "file" / "deep" / "a.h5")
    monkeypatch.setattr("os.access", lambda *_arguments: False)
    with pytest.raises(StorageError, match="not writable"):
        plan(["scan.h5"], tmp_path / "deep" / "a.h5")


def test_a_format_without_its_package_is_refused_before_anything_is_opened(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pydicom", None)
    monkeypatch.setattr("somamba.extras.installed", lambda module: module != "pydicom")
    with pytest.raises(MissingExtraError, match=r"somamba\[dicom\]"):
        plan(["scan.h5"], tmp_path / "out", ["h5", "dcm"])
    assert plan(["scan.h5"], tmp_path / "out", ["h5"])


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, f"a{ending}") for name, endings in OUTPUT_ENDINGS.items() for ending in endings if ending],
)
def test_the_ending_tells_the_format(name, place, tmp_path):
    assert format_of(tmp_path / place) == name


@pytest.mark.parametrize("name", list(OUTPUT_ENDINGS))
def test_outputs_are_named_after_their_input(name, tmp_path):
    assert format_of(tmp_path / output_name("scan.v2", name), name) == name
    assert output_name("scan.v2", name).startswith("scan.v2")


def test_every_format_has_endings_and_a_plan_imports_no_format():
    assert list(OUTPUT_ENDINGS) == list(FORMATS)
    modules = "sys, somamba.inference.plan"
    code = f"import {modules}; assert not {{'torch', 'nibabel', 'h5py'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
