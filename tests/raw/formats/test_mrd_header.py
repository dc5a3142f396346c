"""What is taken from an ISMRMRD header, and what is refused in it."""

from pathlib import Path

import pytest

from raw.made import HEADER
from somamba.errors import DataError
from somamba.raw.formats.mrd_header import read_header

PATH = Path("a.h5")
FIELDS = {
    "x": 256,
    "y": 128,
    "recon_x": 128,
    "view_x": 600,
    "view_y": 300,
    "recon_view": 300,
    "last": 127,
    "center": 60,
    "trajectory": "Cartesian",
    "mode": "embedded",
}


def test_sizes_centre_and_bandwidth_are_read():
    header = read_header(HEADER.format(**FIELDS), PATH)
    assert header.encoded.matrix == (256, 128, 1)
    assert (header.trimmed(0), header.trimmed(1)) == (128, 128)
    assert (header.center, header.trajectory, header.noise_bandwidth) == (60, "cartesian", 0.5)
    assert header.wanted.spacing(0) == pytest.approx(300 / 128)


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("<h/>", "no <encoding>"),
        (HEADER.format(**FIELDS)[:-5], "not XML"),
        ("<!DOCTYPE h [<!ENTITY a 'aa'>]><h/>", "document type"),
        (HEADER.format(**{**FIELDS, "y": "abc"}), "<encodedSpace> of the ISMRMRD header needs matrixSize"),
        (HEADER.format(**{**FIELDS, "recon_view": "0"}), "<reconSpace> of the ISMRMRD header needs"),
    ],
)
def test_headers_that_do_not_tell_the_size_are_refused(xml, words):
    with pytest.raises(DataError, match=words):
        read_header(xml, PATH)
