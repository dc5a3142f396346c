"""A folder of a user's own images: every format, splits by subject, errors that say what was wanted."""

import h5py
import nibabel
import numpy as np
import pytest

from somamba.data.catalog import DATASETS, split_entries
from somamba.data.readers.folder import role_of
from somamba.errors import DataError

READER = DATASETS["folder"]
VOLUME = np.random.default_rng(0).uniform(0, 100, (3, 20, 18)).astype(np.float32)


def write(path, volume=VOLUME):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith((".nii", ".nii.gz")):
        nibabel.Nifti1Image(volume.T, np.eye(4)).to_filename(path)
    elif path.suffix == ".npy":
        np.save(path, volume)
    elif path.suffix == ".npz":
        np.savez(path, image=volume, spacing=np.ones(2))
    else:
        with h5py.File(path, "w") as file:
            file["image"] = volume


def roles(root):
    return {entry.id: entry.role for entry in READER.find(root).entries}


@pytest.mark.parametrize("ending", [".nii", ".nii.gz", ".npy", ".npz", ".h5"])
def test_every_format_gives_the_same_slices(tmp_path, ending):
    write(tmp_path / f"someone{ending}")
    (entry,) = READER.find(tmp_path).entries
    case = READER.open_case(entry)
    assert (entry.id, case.image.shape) == ("someone", (3, 20, 18))
    np.testing.assert_array_equal(case.image.read(1, 3), VOLUME[1:3])


def test_one_image_is_a_stack_of_one(tmp_path):
    write(tmp_path / "a.npy", VOLUME[0])
    case = READER.open_case(READER.find(tmp_path).entries[0])
    assert case.image.shape == (1, 20, 18)
    np.testing.assert_array_equal(case.image.slice(0), VOLUME[0])


def test_folders_named_for_parts_decide(tmp_path):
    for part in ("train", "val", "test"):
        write(tmp_path / part / f"{part}er" / "a.npy")
    assert roles(tmp_path) == {"trainer/a": "train", "valer/a": "val", "tester/a": "test"}


def test_images_of_one_subject_share_a_part(tmp_path):
    for name in ("sub-01_T1w", "sub-01_T2w", "sub-02_T1w"):
        write(tmp_path / f"{name}.npy")
    for session in ("first", "second"):
        write(tmp_path / "anna" / session / "t1.npy")
    subjects = {}
    for entry in READER.find(tmp_path).entries:
        subjects.setdefault(entry.subject, set()).add(entry.role)
    assert sorted(subjects) == ["anna", "sub-01", "sub-02"]
    assert all(len(parts) == 1 for parts in subjects.values())


def test_two_subjects_are_enough_to_train_and_validate(tmp_path):
    for name in "ab":
        write(tmp_path / f"{name}.npy")
    assert sorted(roles(tmp_path).values()) == ["train", "val"]
    assert len(split_entries("folder", tmp_path, "val")) == 1


def test_parts_stay_as_they_are_when_subjects_are_added(tmp_path):
    for number in range(30):
        write(tmp_path / f"p{number}.npy")
    before = roles(tmp_path)
    for number in range(30, 40):
        write(tmp_path / f"p{number}.npy")
    after = roles(tmp_path)
    assert set(before.values()) == {"train", "val", "test"}
    assert {name: after[name] for name in before} == before
    assert before["p3"] == role_of("p3")


def test_what_is_no_image_is_left_out_and_said(tmp_path):
    write(tmp_path / "a.npy")
    (tmp_path / "notes.txt").write_text("x")
    assert [(item.name, "not one of" in item.reason) for item in READER.find(tmp_path).left_out] == [
        ("notes.txt", True)
    ]


@pytest.mark.parametrize(
    "arrays",
    [{"kspace": VOLUME.astype(np.complex64)}, {"one": VOLUME, "two": VOLUME}, {"spacing": np.ones(3)}],
    ids=["complex", "two images", "no image"],
)
def test_a_file_without_exactly_one_image_says_what_is_in_it(tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=f"exactly one array of real numbers.*found {next(iter(arrays))}"):
        READER.open_case(READER.find(tmp_path).entries[0])


def test_a_missing_folder_is_said_so(tmp_path):
    with pytest.raises(DataError, match="is not a folder"):
        READER.find(tmp_path / "nowhere")


def test_the_parts_of_named_subjects_never_change():
    """Splits are part of every result: they must be the same in every version."""
    roles = {name: role_of(name) for name in (f"sub-{number:02d}" for number in range(40))}
    assert [name for name in roles if roles[name] == "val"] == ["sub-01", "sub-08", "sub-17", "sub-19", "sub-20"]
    assert [name for name in roles if roles[name] == "test"] == ["sub-12", "sub-24", "sub-38"]
