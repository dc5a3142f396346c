"""M4Raw: one contrast, repetitions apart, subjects together."""

import pytest

from somamba.data.catalog import DATASETS
from somamba.data.phantom import write_phantom
from somamba.errors import DataError

READER = DATASETS["m4raw"]


def test_other_contrasts_are_left_out_with_the_reason(tmp_path):
    write_phantom("m4raw", tmp_path, cases={"train": 1})
    listing = READER.find(tmp_path)
    assert [entry.id for entry in listing.entries] == ["2022010001_T101"]
    assert [(item.name, item.reason) for item in listing.left_out] == [("2022010001_T201.h5", "contrast T2, not T1")]


def test_the_subject_is_the_study_of_the_name(tmp_path):
    write_phantom("m4raw", tmp_path, cases={"train": 1})
    folder = tmp_path / "multicoil_train"
    (folder / "2022010001_T102.h5").write_bytes((folder / "2022010001_T101.h5").read_bytes())
    entries = READER.find(tmp_path).entries
    assert {entry.subject for entry in entries} == {"2022010001"}
    assert len(entries) == 2


def test_a_name_that_does_not_tell_the_contrast_is_refused(tmp_path):
    (tmp_path / "multicoil_train").mkdir()
    (tmp_path / "multicoil_train" / "T1_scan.h5").touch()
    with pytest.raises(DataError, match="named like 2022061003_T101"):
        READER.find(tmp_path)
