"""Only the voxel size is taken from a header, and only from a sound one."""

from pathlib import Path

import pytest

from somamba.errors import DataError
from somamba.files.formats.ismrmrd_header import voxel_size

HEADER = (
    "<h><encoding><reconSpace><matrixSize><x>320</x><y>160</y><z>1</z></matrixSize>"
    "<fieldOfView_mm><x>160</x><y>160</y><z>4.5</z></fieldOfView_mm></reconSpace></encoding></h>"
)
PATH = Path("a.h5")


def test_rows_may_be_either_axis_of_the_header():
    assert voxel_size(HEADER, PATH, rows="x") == (4.5, 0.5, 1.0)
    assert voxel_size(HEADER, PATH, rows="y") == (4.5, 1.0, 0.5)


@pytest.mark.parametrize("bad", ["0", "-3", "abc", "nan", "1e400"])
def test_an_impossible_size_is_unknown(bad):
    assert voxel_size(HEADER.replace("320", bad), PATH, rows="x") is None
    assert voxel_size("<h/>", PATH, rows="x") is None


def test_document_types_and_broken_xml_are_refused():
    with pytest.raises(DataError, match=r"a\.h5.*document type"):
        voxel_size("<!DOCTYPE h [<!ENTITY a 'aa'>]>" + HEADER, PATH, rows="x")
    with pytest.raises(DataError, match="not XML"):
        voxel_size(HEADER[:-3], PATH, rows="x")
