"""What was acquired is found from the zeros."""

import numpy as np
import pytest
import torch

from raw.made import coil_kspace, columns
from somamba.errors import InputError
from somamba.raw.sampling import find_sampling, phase_encodes_rows


def found(kspace):
    return find_sampling(torch.from_numpy(np.ascontiguousarray(kspace)))


def test_all_columns_are_full_sampling():
    sampling = found(coil_kspace())
    assert sampling.complete
    assert sampling.kind == "every column"
    assert sampling.calibration_lines == 24
    assert sampling.mask.pattern.shape == (1, 24)


@pytest.mark.parametrize("step", [2, 3, 4])
def test_equispaced_columns_are_recognised_with_their_centre(step):
    kspace = columns(coil_kspace(width=60), step, 9)
    sampling = found(kspace)
    acquired = kspace.any(axis=(0, 1))
    assert sampling.mask.lines == tuple(np.flatnonzero(acquired))
    assert sampling.acceleration == pytest.approx(60 / acquired.sum())
    assert sampling.kind == f"every {step}{'nd' if step == 2 else 'rd' if step == 3 else 'th'} column and the centre"
    assert 9 <= sampling.calibration_lines <= 11


def test_zeros_at_the_edge_do_not_count_as_undersampling():
    kspace = coil_kspace()
    kspace[..., :5] = 0
    sampling = found(kspace)
    assert sampling.complete
    assert sampling.span.columns == slice(5, 24)
    every_second = columns(coil_kspace(), 2, 4)
    assert found(every_second).span.columns == slice(0, 24)


def test_a_partial_echo_is_no_pattern_of_rows():
    kspace = columns(coil_kspace(), 3, 6)
    kspace[:, :7] = 0
    sampling = found(kspace)
    assert sampling.kind == "every 3rd column and the centre"
    assert sampling.span.rows == slice(7, 32)
    assert sampling.acceleration == pytest.approx(24 / kspace.any(axis=(0, 1)).sum())


def test_rows_that_may_be_partial_fourier_name_the_remedy():
    """Which axis is the readout cannot be told if no line between others is missing."""
    kspace = coil_kspace()
    kspace[:, :7] = 0
    (note,) = found(kspace).notes()
    assert note.startswith("7 rows at the edge of the readout")
    assert "--axes coils,x,y (in Python axes=" in note
    assert found(np.swapaxes(kspace, -2, -1)).notes()[0].startswith("7 columns at the edge were never acquired")
    (readout,) = found(columns(kspace, 3, 6)).notes()
    assert "--axes" not in readout


def test_scattered_samples_are_a_pattern_of_two_directions():
    keep = np.random.default_rng(0).random((32, 24)) < 0.3
    keep[12:20, 9:15] = True
    sampling = found(np.where(keep, coil_kspace(), 0))
    assert sampling.kind == "scattered samples in both directions"
    np.testing.assert_array_equal(sampling.mask.pattern.numpy(), keep)
    assert sampling.acceleration == pytest.approx(keep.size / keep.sum())


def test_a_measured_zero_is_not_a_gap():
    kspace = columns(coil_kspace(), 2, 6)
    kspace[:, 3, 4] = 0
    assert found(kspace).mask.pattern.shape == (1, 24)


def test_a_centre_that_was_not_acquired_cannot_calibrate():
    kspace = coil_kspace()
    kspace[..., 12] = 0
    sampling = found(kspace)
    assert sampling.calibration is None
    assert sampling.calibration_lines == 0


def test_an_empty_slice_is_refused():
    with pytest.raises(InputError, match="All samples of this slice are zero"):
        found(np.zeros((2, 8, 8), dtype=np.complex64))


def test_gaps_between_rows_show_the_phase_encoding():
    kspace = columns(coil_kspace(), 2, 6)
    assert not phase_encodes_rows(torch.from_numpy(kspace))
    assert phase_encodes_rows(torch.from_numpy(np.ascontiguousarray(kspace.swapaxes(-2, -1))))
