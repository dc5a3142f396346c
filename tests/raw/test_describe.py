"""The words of ``somamba inspect`` are those of the file."""

import numpy as np

from raw.made import coil_kspace, columns, lines_of, write_fastmri, write_mrd
from somamba.raw.describe import describe
from somamba.raw.opening import open_raw_scan


def test_an_undersampled_scan_is_described_in_full(tmp_path):
    kspace = columns(coil_kspace(width=40), 4, 8)
    facts = describe(open_raw_scan(write_fastmri(tmp_path / "a.h5", kspace=np.stack([kspace, kspace]))))
    acquired = int(kspace.any(axis=(0, 1)).sum())
    assert facts["k-space"] == "32 rows (readout) x 40 columns (phase encoding)"
    assert (facts["coils"], facts["slices"]) == ("3", "2")
    assert facts["sampling"] == "every 4th column and the centre (slice 1)"
    assert facts["acceleration"] == f"{40 / acquired:.2f} ({acquired} of 40 columns)"
    assert facts["calibration"] == "9 lines"
    assert facts["noise"].endswith("dB below the largest sample")
    assert (facts["voxel"], facts["orientation"]) == ("unknown", "unknown")


def test_an_empty_slice_in_the_middle_is_passed_over(tmp_path):
    kspace = np.stack([coil_kspace(), np.zeros_like(coil_kspace()), coil_kspace()])
    facts = describe(open_raw_scan(write_fastmri(tmp_path / "a.h5", kspace=kspace)))
    assert facts["sampling"] == "every column (slice 0)"


def test_columns_never_acquired_are_told(tmp_path):
    kspace = coil_kspace()
    kspace[..., :3] = 0
    facts = describe(open_raw_scan(write_fastmri(tmp_path / "a.h5", kspace=kspace[None])))
    assert facts["acceleration"] == "none, fully sampled; 3 columns at the edge never acquired"


def test_volumes_and_voxels_are_told(tmp_path):
    lines = [line for time in range(2) for line in lines_of(coil_kspace(), repetition=time)]
    facts = describe(open_raw_scan(write_mrd(tmp_path / "a.h5", lines, (32, 24))))
    assert facts["slices"] == "2: 2 volumes of 1"
    assert facts["voxel"] == "2 x 2 x 5 mm"
    assert facts["picture"] == "24 x 32, turned"
