"""``somamba data`` says what is in a folder, and draws it."""

import numpy as np
import pytest
from PIL import Image

from data.readers.made_dicom import write_series
from somamba.cli.main import run_command
from somamba.data.phantom import write_phantom
from somamba.errors import DataError, UsageError


@pytest.fixture
def acdc(tmp_path):
    write_phantom("acdc", tmp_path, cases={"train": 3, "test": 1}, shape=(140, 130))
    return tmp_path


def drawn(path):
    with Image.open(path) as picture:
        return np.asarray(picture)


def test_check_counts_cases_and_slices_by_split(acdc, capsys):
    run_command("data", ["check", "acdc", str(acdc)])
    out = capsys.readouterr().out
    rows = {line.split()[1]: line.split()[3:8:2] for line in out.splitlines() if line.startswith("│")}
    assert rows["train"] == ["2", "8", "8"]
    assert rows["val"] == ["1", "4", "4"]
    assert "140 x 130" in out
    assert "left out: 12 x segmentation" in out
    assert "all 4 cases can be used" in out


def test_check_names_the_first_bad_file_and_goes_on(acdc, capsys):
    frame = acdc / "training" / "patient002" / "patient002_frame04.nii.gz"
    frame.write_bytes(frame.read_bytes()[:200])
    with pytest.raises(DataError, match=r"1 of 4 cases cannot be used.*patient002_frame04\.nii\.gz: it is damaged"):
        run_command("data", ["check", "acdc", str(acdc)])
    assert "140 x 130" in capsys.readouterr().out


def test_a_quick_check_reads_headers_only(acdc, capsys):
    frame = acdc / "training" / "patient002" / "patient002_frame04.nii.gz"
    frame.write_bytes(frame.read_bytes()[:-100])
    run_command("data", ["check", "acdc", str(acdc), "--quick"])
    assert "all 4 cases" in capsys.readouterr().out
    with pytest.raises(DataError, match="patient002"):
        run_command("data", ["check", "acdc", str(acdc)])


@pytest.mark.parametrize("name", ["fastmri", "cc359", "m4raw", "prostate158", "fastmri_multicoil", "cc359_multicoil"])
def test_check_and_show_work_for_every_dataset(name, tmp_path, capsys):
    written = write_phantom(name, tmp_path, cases={"train": 2, "test": 1})
    run_command("data", ["check", name, str(tmp_path)])
    run_command("data", ["show", name, str(tmp_path), "--case", written[0].id, "-o", str(tmp_path / "a.png")])
    assert "all 3 cases can be used" in capsys.readouterr().out
    assert drawn(tmp_path / "a.png").shape[1] > 4 * 24


def test_show_draws_target_mask_zero_filled_and_error(acdc, capsys):
    out = acdc / "case.png"
    run_command(
        "data",
        ["show", "acdc", str(acdc), "--case", "patient002", "--slice", "1", "--acceleration", "8", "-o", str(out)],
    )
    picture = drawn(out)
    assert picture.shape == (256 + 18, 4 * 256 + 3 * 4)
    target, mask, zero_filled, error = (picture[18:, i * 260 : i * 260 + 256] for i in range(4))
    assert set(np.unique(mask)) == {0, 255}
    assert mask.mean() / 255 == pytest.approx(0.129, abs=0.002)
    assert (target.min(), target.max()) == (0, 255)
    assert 0 < np.abs(target.astype(int) - zero_filled).mean() < 60
    assert error.std() > 0
    said = capsys.readouterr().out
    assert "patient002, slice 1 of 4: 128 x 128, 12.8% sampled, zero-filled" in said


def test_show_suggests_the_case_that_was_meant(acdc):
    with pytest.raises(DataError, match=r"no case 'patient2' among its 4 cases\. Did you mean 'patient002'"):
        run_command("data", ["show", "acdc", str(acdc), "--case", "patient2"])


def test_show_refuses_first_what_it_could_not_write(acdc):
    show = ["show", "acdc", str(acdc), "--case", "patient002", "-o"]
    (acdc / "foreign.png").write_bytes(b"a picture of somebody else")
    (acdc / "file").touch()
    for name, reason in (
        ("foreign.png", "was not written by somamba"),
        ("file/a.png", "is not a folder"),
        ("training", "is a folder"),
        ("a.jpg", r"does not end in \.png"),
    ):
        with pytest.raises(UsageError, match=reason):
            run_command("data", [*show, str(acdc / name)])
    assert (acdc / "foreign.png").read_bytes() == b"a picture of somebody else"


def test_show_replaces_its_own_picture(acdc):
    for number in ("1", "2"):
        show = ["show", "acdc", str(acdc), "--case", "patient002", "--slice", number]
        run_command("data", [*show, "-o", str(acdc / "new" / "a.png")])
    assert drawn(acdc / "new" / "a.png").any()


def test_unknown_datasets_are_refused(tmp_path):
    with pytest.raises(UsageError, match="Did you mean 'acdc'"):
        run_command("data", ["check", "acd", str(tmp_path)])


def test_help_teaches_with_examples(capsys):
    with pytest.raises(SystemExit):
        run_command("data", ["--help"])
    out = capsys.readouterr().out
    assert "somamba data check acdc data/acdc" in out
    assert "PATH/singlecoil_{train,val}/file1000001.h5" in out


def test_a_folder_of_ones_own_says_what_was_understood(tmp_path, capsys):
    for name in ("anna", "berta"):
        write_series(tmp_path / name, patient=name, series=name)
    (tmp_path / "notes.txt").write_text("x")
    run_command("data", ["check", "folder", str(tmp_path)])
    out = " ".join(capsys.readouterr().out.split())
    assert "understood: 2 x DICOM series of 6 files; 2 subjects" in out
    assert "told by its PatientID" in out
    assert "left out: 1 x not one of" in out
    assert "all 2 cases can be used" in out
