"""What a folder holds of a dataset is counted, and what is damaged is named."""

import pytest

from somamba.data.check import check_dataset, find_case
from somamba.data.phantom import write_phantom
from somamba.errors import DataError


@pytest.fixture
def acdc(tmp_path):
    write_phantom("acdc", tmp_path, cases={"train": 3, "test": 1}, slices=4)
    return tmp_path


def test_cases_and_slices_of_each_split_are_counted(acdc):
    found = check_dataset("acdc", acdc, quick=False)
    assert {role: (tally.cases, tally.slices) for role, tally in found.splits.items()} == {
        "train": (2, 8),
        "val": (1, 4),
        "test": (1, 4),
    }
    assert (found.usable, found.entries, found.unusable) == (4, 4, ())


def test_a_damaged_case_is_named_and_the_others_are_counted(acdc):
    frame = acdc / "training" / "patient002" / "patient002_frame04.nii.gz"
    frame.write_bytes(frame.read_bytes()[:200])
    found = check_dataset("acdc", acdc, quick=False)
    assert (found.usable, len(found.unusable)) == (3, 1)
    assert "patient002_frame04.nii.gz" in found.unusable[0]


def test_a_folder_without_cases_is_refused(tmp_path):
    with pytest.raises(DataError, match="does not look like ACDC"):
        check_dataset("acdc", tmp_path, quick=True)


def test_one_case_is_found_by_name(acdc):
    assert find_case("acdc", acdc, "patient002").id == "patient002"
    with pytest.raises(DataError, match="Did you mean 'patient002'"):
        find_case("acdc", acdc, "patient2")
    with pytest.raises(DataError, match="The first is"):
        find_case("acdc", acdc, "zzz")
