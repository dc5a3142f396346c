"""ISMRMRD files: every readout in its place, oversampling trimmed, noise and calibration scans understood."""

import h5py
import numpy as np
import pytest
import torch

from raw.made import acquisition, coil_kspace, columns, lines_of, noise, picture, write_mrd
from somamba.errors import DataError
from somamba.inference.reconstruct import reconstruct
from somamba.inference.weights.trained import open_model
from somamba.inference.writers.writing import write
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.physics.fourier import fft2c, ifft2c
from somamba.raw.opening import open_raw_scan

SHAPE = (32, 24)


def refusal(path):
    with pytest.raises(DataError) as caught:
        open_raw_scan(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_lines_in_any_order_give_the_kspace_they_came_from(tmp_path):
    kspace = columns(coil_kspace(), 3, 6)
    lines = lines_of(kspace)
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines[::-1], SHAPE))
    np.testing.assert_array_equal(scan.kspace(0).numpy(), kspace)
    assert scan.sampling(0).mask.lines == tuple(np.flatnonzero(kspace.any(axis=(0, 1))))
    assert (scan.slices, scan.coils, scan.shape) == (1, 3, SHAPE)


def test_slices_and_repetitions_are_numbered_volume_by_volume(tmp_path):
    kspace = coil_kspace()
    lines = [
        line
        for repetition in range(2)
        for slice_number in (1, 0, 2)
        for line in lines_of(kspace * (1 + slice_number + 10 * repetition), slice=slice_number, repetition=repetition)
    ]
    scan = open_raw_scan(write_mrd(tmp_path / "a.mrd", lines, SHAPE))
    assert (scan.slices, scan.volumes) == (6, 2)
    for index, factor in enumerate((1, 2, 3, 11, 12, 13)):
        np.testing.assert_allclose(scan.kspace(index).numpy(), factor * kspace, rtol=1e-5)


def test_repeated_lines_are_averaged(tmp_path):
    kspace = coil_kspace()
    lines = lines_of(0.5 * kspace, average=0) + lines_of(1.5 * kspace, average=1)
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines, SHAPE))
    np.testing.assert_allclose(scan.kspace(0).numpy(), kspace, rtol=1e-5)
    assert any("Averages" in note for note in scan.notes)


def test_an_oversampled_readout_is_trimmed_and_gaps_stay_gaps(tmp_path):
    wide = torch.zeros(1, 64, 24, dtype=torch.complex64)
    wide[0, 16:48] = picture(32, 24)
    kspace = columns(fft2c(wide).numpy(), 2, 6)
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines_of(kspace), (64, 24), recon_x=32, recon_view=64.0))
    assert scan.shape == (32, 24)
    assert scan.voxel == (5.0, 2.0, 2.0)
    expected = ifft2c(torch.from_numpy(kspace))[:, 16:48]
    assert (ifft2c(scan.kspace(0)) - expected).abs().max() < 1e-5
    assert scan.sampling(0).mask.lines == tuple(np.flatnonzero(kspace.any(axis=(0, 1))))


def test_a_partial_echo_and_dropped_samples_are_put_where_they_belong(tmp_path):
    kspace = coil_kspace()
    lines = [
        acquisition(
            np.pad(kspace[:, 6:, column], ((0, 0), (2, 1)), constant_values=9),
            kspace_encode_step_1=column,
            center_sample=16 - 6 + 2,
            discard_pre=2,
            discard_post=1,
        )
        for column in range(24)
    ]
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines, SHAPE))
    np.testing.assert_array_equal(scan.kspace(0).numpy()[:, 6:], kspace[:, 6:])
    assert not scan.kspace(0)[:, :6].any()


def test_the_noise_scan_gives_the_covariance_at_the_bandwidth_of_the_picture(tmp_path):
    mix = np.array([[1, 0, 0], [0.5j, 1, 0], [0, 0, 2]])
    samples = mix @ noise((3, 20_000), 0.1)
    lines = [acquisition(samples, flags=(19,), sample_time_us=2.5), *lines_of(coil_kspace())]
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines, SHAPE))
    # Half the dwell time and half the relative bandwidth cancel.
    expected = 2 * 0.1**2 * mix @ mix.conj().T
    np.testing.assert_allclose(scan.noise.covariance, expected, atol=0.04 * expected.real.max())
    assert scan.noise.deviation == pytest.approx(np.sqrt(np.trace(expected).real / 3 / 2), rel=0.05)
    np.testing.assert_array_equal(scan.kspace(0).numpy(), coil_kspace())


def test_calibration_lines_belong_to_the_picture_unless_they_were_scanned_apart(tmp_path):
    kspace = coil_kspace()
    center = [
        line for line in lines_of(2 * kspace, flags=(20,)) if 8 <= line["head"]["idx"]["kspace_encode_step_1"] < 16
    ]
    outer = lines_of(np.where(np.isin(np.arange(24), range(8, 16)), 0, kspace))
    embedded = open_raw_scan(write_mrd(tmp_path / "a.h5", outer + center, SHAPE))
    assert embedded.sampling(0).complete
    assert embedded.reference is None
    sparse = columns(kspace, 3, 0)
    apart = open_raw_scan(write_mrd(tmp_path / "b.h5", lines_of(sparse) + center, SHAPE, mode="separate"))
    np.testing.assert_array_equal(apart.kspace(0).numpy(), sparse)
    np.testing.assert_array_equal(apart.calibration(0).numpy()[..., 8:16], 2 * kspace[..., 8:16])
    assert not apart.calibration(0)[..., :8].any()


def test_navigators_and_further_encodings_are_left_out(tmp_path):
    kspace = coil_kspace()
    extra = acquisition(np.full((3, 32), 7 + 0j), flags=(23,)), acquisition(np.ones((2, 8)), encoding_space_ref=1)
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", [*extra, *lines_of(kspace)], SHAPE))
    np.testing.assert_array_equal(scan.kspace(0).numpy(), kspace)
    assert any("1 acquisitions of further encodings" in note for note in scan.notes)


def test_pictures_are_turned_so_that_the_readout_runs_along_their_columns(tmp_path):
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines_of(coil_kspace()), SHAPE))
    image = root_sum_of_squares(ifft2c(scan.kspace(0))[None])[0, 0]
    assert scan.picture(image).shape == scan.image_shape == (24, 32)
    assert (scan.picture(image) - picture().mT).abs().max() < 1e-5


def test_positions_and_directions_become_an_affine(tmp_path):
    directions = {"read_dir": (1, 0, 0), "phase_dir": (0, 1, 0), "slice_dir": (0, 0, 1)}
    lines = [
        line
        for number in range(3)
        for line in lines_of(coil_kspace(), slice=number, position=(10, 20, 30 + 6 * number), **directions)
    ]
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines, SHAPE))
    # The middle of slice 1; right and anterior are the negative of left and posterior.
    np.testing.assert_allclose(scan.affine @ [32 // 2, 24 // 2, 1, 1], [-10, -20, 36, 1])
    np.testing.assert_allclose(np.diag(scan.affine), [-2, -2, 6, 1])


@pytest.mark.parametrize(
    ("lines", "header", "words"),
    [
        ([], {"trajectory": "radial"}, "only Cartesian"),
        ([acquisition(np.ones((3, 32)), flags=(22,))], {}, "run backwards"),
        ([acquisition(np.ones((3, 32)), kspace_encode_step_2=1)], {}, "3-D"),
        ([acquisition(np.ones((2, 32)))], {}, r"have \[2, 3\] coils"),
        ([acquisition(np.ones((3, 32)), flags=(53,))], {}, "compressed"),
        ([acquisition(np.ones((3, 32)), kspace_encode_step_1=24)], {}, "columns 0 to 24 of 24"),
        ([acquisition(np.ones((3, 40)))], {}, "does not fit into a readout of 32"),
        ([], {"x": "-1"}, "needs matrixSize"),
        ([], {"x": "1000000000"}, "needs matrixSize"),
        ([], {"x": "8000", "y": "8000"}, "3 coils x 8000 x 8000, more than 128 MiB each"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_the_reason(lines, header, words, tmp_path):
    path = write_mrd(tmp_path / "a.h5", lines_of(coil_kspace()) + lines, SHAPE, **header)
    with pytest.raises(DataError, match=words):
        open_raw_scan(path)


def test_a_head_that_declares_more_than_is_stored_is_refused(tmp_path):
    lines = lines_of(coil_kspace())
    lines[3]["head"]["number_of_samples"] = 60000
    assert "declares 3 coils and 60000 samples but stores 96 values" in refusal(
        write_mrd(tmp_path / "a.h5", lines, SHAPE)
    )


def test_a_file_with_noise_only_has_no_picture(tmp_path):
    path = write_mrd(tmp_path / "a.h5", [acquisition(noise((3, 32), 1.0), flags=(19,))], SHAPE)
    assert "none of its 1 acquisitions belongs to a picture" in refusal(path)


@pytest.mark.parametrize(
    ("name", "shape", "slices", "step", "lines"),
    [
        ("full_m128_c8", (128, 128), 1, None, 128),
        ("acc4_w24_m128_c8_r2", (128, 128), 8, 4, 50),
        ("odd_m127_c3", (127, 127), 3, 3, 52),
        ("acc2_w16_m160_c4_r3_os1", (160, 160), 6, 2, 88),
    ],
)
def test_files_of_ismrmrd_tools_show_their_phantom(shared_data, name, shape, slices, step, lines):
    scan = open_raw_scan(shared_data / "mrd" / f"{name}.h5")
    assert (scan.shape, scan.slices) == (shape, slices)
    sampling = scan.sampling(slices // 2)
    assert len(sampling.mask.lines) == lines
    assert sampling.kind.startswith("every column" if step is None else f"every {step}")
    # All repetitions together hold every line, so their mean over what is there is the phantom, upright and whole.
    stack = torch.stack([scan.kspace(index) for index in range(slices)])
    times = (stack != 0).any(dim=(1, 2)).sum(dim=0).clamp(min=1)
    image = root_sum_of_squares(ifft2c(stack.sum(dim=0) / times)[None])[0, 0]
    # The generator shifts by n // 2 in both directions, which leaves odd images one pixel off.
    upright = scan.picture(image).roll((shape[0] % 2, shape[1] % 2), dims=(0, 1))
    truth = phantom(shared_data / "mrd" / f"{name}.h5")
    found = torch.corrcoef(torch.stack([upright.flatten(), truth.flatten()]))[0, 1]
    assert found > 0.95


def phantom(path):
    """What ismrmrd-tools stored beside the acquisitions: the object (z, y, x) that they were computed from."""
    with h5py.File(path, "r") as file:
        values = file["dataset/phantom"][0]
    return torch.from_numpy(np.hypot(values["real"], values["imag"]))


TILTED = {"read_dir": (1, 0, 0), "phase_dir": (0, 0.6, 0.8), "slice_dir": (0, -0.8, 0.6)}


def stack(path, distances, repetitions=1):
    """Slices at these distances along a tilted normal; the first is as bright as 1, the next as 2, and so on."""
    lines = [
        line
        for repetition in range(repetitions)
        for number, distance in enumerate(distances)
        for line in lines_of(
            (1 + distance) * (1 + 100 * repetition) * coil_kspace(),
            slice=number,
            repetition=repetition,
            position=distance * np.array(TILTED["slice_dir"]),
            **TILTED,
        )
    ]
    return open_raw_scan(write_mrd(path, lines, (32, 24)))


@pytest.mark.parametrize(
    ("distances", "step"),
    [([0, 6, 12, 18], 6), ([18, 12, 6, 0], 6), ([0, 12, 24, 6, 18], 6), ([0, 8, 16], 8), ([0, 18, 6, 24], 6)],
)
def test_slices_lie_where_they_were_acquired(distances, step, tmp_path):
    """Ascending, descending, interleaved, with gaps, one missing: the picture at a place is the one acquired there."""
    scan = stack(tmp_path / "a.h5", distances, repetitions=2)
    assert scan.volumes == 2
    per_volume = scan.slices // 2
    assert per_volume == 1 + max(distances) // step
    for index in range(scan.slices):
        place = (scan.affine @ [16, 12, index % per_volume, 1])[:3] * [-1, -1, 1]
        distance = float(place @ TILTED["slice_dir"])
        assert distance == pytest.approx(step * (index % per_volume), abs=1e-4)
        expected = (1 + distance) * (1 + 100 * (index // per_volume)) if round(distance) in distances else 0
        np.testing.assert_allclose(scan.kspace(index).numpy(), expected * coil_kspace(), rtol=1e-3, atol=1e-3)
    assert np.linalg.norm(scan.affine[:3, 2]) == pytest.approx(step, abs=1e-4)


AXIAL, CORONAL, TURNED = (
    dict(zip(TILTED, directions, strict=True))
    for directions in (
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
        ((0, 1, 0), (-1, 0, 0), (0, 0, 1)),
    )
)


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        ([{**AXIAL, "slice": 0}, {**CORONAL, "slice": 1}], "Slices have different directions"),
        ([{**AXIAL, "slice": 0}, {**TURNED, "slice": 1, "position": (0, 0, 5)}], "Slices have different directions"),
        ([{**AXIAL, "slice": 0}, {**AXIAL, "slice": 1}], "Several slices are at one place"),
        ([{**AXIAL}, {**AXIAL, "repetition": 1, "position": (0, 0, 90)}], "Slices lie elsewhere in each volume"),
    ],
)
def test_pictures_that_are_no_stack_get_no_place_and_it_is_told(heads, words, tmp_path):
    """Three planes of a localizer, turned slices, missing positions, a table that moves between repetitions."""
    lines = [line for head in heads for line in lines_of(coil_kspace(), **head)]
    scan = open_raw_scan(write_mrd(tmp_path / "a.h5", lines, SHAPE))
    assert scan.affine is None
    assert f"{words}, so where they lie is not written." in scan.notes


def test_dicom_files_of_interleaved_slices_have_their_positions(tmp_path):
    pydicom = pytest.importorskip("pydicom")
    scan = stack(tmp_path / "a.h5", [0, 12, 24, 6, 18])
    write(reconstruct(scan, open_model("zero_filled")), tmp_path / "series", "dcm")
    files = [pydicom.dcmread(path) for path in sorted((tmp_path / "series").iterdir())]
    along = [np.array(file.ImagePositionPatient, float) @ TILTED["slice_dir"] for file in files]
    np.testing.assert_allclose(np.diff(along), 6, atol=1e-4)
    brightness = [file.pixel_array.astype(float).max() for file in files]
    np.testing.assert_allclose(brightness / brightness[0], [1, 7, 13, 19, 25], rtol=0.01)
    assert "MR Image" in files[0].SOPClassUID.name
