"""Patient and study come from a DICOM file of the scan, and from nothing else."""

import os

import pytest

from inference.writers.made import made
from somamba.errors import DataError, StorageError
from somamba.inference.writers.template import read_template
from somamba.inference.writers.writing import write

pydicom = pytest.importorskip("pydicom")


@pytest.fixture
def template(tmp_path):
    write(made(slices=1), tmp_path / "a.dcm")
    values = pydicom.dcmread(tmp_path / "a.dcm")
    values.PatientName, values.PatientID, values.PatientWeight = "Doe^Jane", "17", "61.5"
    values.StudyInstanceUID, values.OperatorsName = "1.2.3", "Someone^Else"
    values.save_as(tmp_path / "template.dcm")
    return tmp_path / "template.dcm"


def test_patient_and_study_are_taken_and_nothing_else(template):
    study = read_template(template)
    assert (study["PatientName"], study["PatientID"], study["PatientWeight"]) == ("Doe^Jane", "17", "61.5")
    assert study["StudyInstanceUID"] == "1.2.3"
    assert not {"OperatorsName", "SeriesInstanceUID", "SOPInstanceUID", "StudyDate"} & set(study)


def test_only_regular_dicom_files_are_templates(template, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("no DICOM at all")
    (tmp_path / "half.dcm").write_bytes(template.read_bytes()[:200])
    for name in ("pipe", "text", "half.dcm", "missing", "."):
        with pytest.raises(DataError):
            read_template(tmp_path / name)


def test_a_template_must_name_its_study(template, tmp_path):
    values = pydicom.dcmread(template)
    del values.StudyInstanceUID
    values.save_as(tmp_path / "b.dcm")
    with pytest.raises(DataError, match="which study it belongs to"):
        read_template(tmp_path / "b.dcm")


def test_values_that_are_no_names_are_refused(template, tmp_path):
    values = pydicom.dcmread(template)
    values.add_new("StudyDescription", "LT", "x" * 5000)
    values.save_as(tmp_path / "b.dcm")
    with pytest.raises(DataError, match="damaged"):
        read_template(tmp_path / "b.dcm")


def test_a_file_that_is_compressed_as_a_whole_is_not_unpacked(template, tmp_path):
    """A few kilobytes would become gigabytes, in our own process."""
    values = pydicom.dcmread(template)
    values.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    values.StudyDescription = "deflated"
    values.save_as(tmp_path / "deflated.dcm")
    assert pydicom.dcmread(tmp_path / "deflated.dcm").StudyDescription == "deflated"
    with pytest.raises(DataError, match="compressed as a whole"):
        read_template(tmp_path / "deflated.dcm")
    with pytest.raises(StorageError, match="not written by somamba"):
        write(made(slices=1), tmp_path / "deflated.dcm")


def test_of_a_large_file_a_part_is_read(template):
    """A hole of a terabyte behind the values; nobody has the memory to read it."""
    os.truncate(template, 1 << 40)
    assert read_template(template)["PatientID"] == "17"
