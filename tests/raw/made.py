"""Small scans of a known object, and writers of every format that is read."""

from pathlib import Path

import h5py
import numpy as np
import torch

from somamba.data.simulation.scanner import coil_maps
from somamba.physics.fourier import fft2c

HEAD = np.dtype(
    [
        *(("version", "<u2"), ("flags", "<u8"), ("measurement_uid", "<u4"), ("scan_counter", "<u4")),
        *(("acquisition_time_stamp", "<u4"), ("physiology_time_stamp", "<u4", (3,)), ("number_of_samples", "<u2")),
        *(("available_channels", "<u2"), ("active_channels", "<u2"), ("channel_mask", "<u8", (16,))),
        *(("discard_pre", "<u2"), ("discard_post", "<u2"), ("center_sample", "<u2"), ("encoding_space_ref", "<u2")),
        *(("trajectory_dimensions", "<u2"), ("sample_time_us", "<f4"), ("position", "<f4", (3,))),
        *((name, "<f4", (3,)) for name in ("read_dir", "phase_dir", "slice_dir", "patient_table_position")),
        (
            "idx",
            [
                *((name, "<u2") for name in ("kspace_encode_step_1", "kspace_encode_step_2", "average", "slice")),
                *((name, "<u2") for name in ("contrast", "phase", "repetition", "set", "segment")),
                ("user", "<u2", (8,)),
            ],
        ),
        *(("user_int", "<i4", (8,)), ("user_float", "<f4", (8,))),
    ]
)
FLOATS = h5py.vlen_dtype(np.float32)
ACQUISITION = np.dtype([("head", HEAD), ("traj", FLOATS), ("data", FLOATS)])

HEADER = """<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">
<acquisitionSystemInformation><relativeReceiverNoiseBandwidth>0.5</relativeReceiverNoiseBandwidth>
</acquisitionSystemInformation><encoding>
<encodedSpace><matrixSize><x>{x}</x><y>{y}</y><z>1</z></matrixSize>
<fieldOfView_mm><x>{view_x}</x><y>{view_y}</y><z>5</z></fieldOfView_mm></encodedSpace>
<reconSpace><matrixSize><x>{recon_x}</x><y>{y}</y><z>1</z></matrixSize>
<fieldOfView_mm><x>{recon_view}</x><y>{view_y}</y><z>5</z></fieldOfView_mm></reconSpace>
<encodingLimits><kspace_encoding_step_1><minimum>0</minimum><maximum>{last}</maximum><center>{center}</center>
</kspace_encoding_step_1></encodingLimits><trajectory>{trajectory}</trajectory>
<parallelImaging><calibrationMode>{mode}</calibrationMode></parallelImaging></encoding></ismrmrdHeader>"""


def picture(height: int = 32, width: int = 24) -> torch.Tensor:
    """An ellipse in the middle with a bright spot off the middle, so that no turn or flip goes unnoticed."""
    y, x = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
    return ((y / 0.6) ** 2 + (x / 0.5) ** 2 < 1).float() + ((y - 0.2) ** 2 + (x - 0.2) ** 2 < 0.02).float()


def true_maps(n_coils: int = 3, height: int = 32, width: int = 24) -> np.ndarray:
    """The sensitivities (coils, y, x) behind `coil_kspace`."""
    return coil_maps(n_coils, (height, width), seed=1).numpy()


def coil_kspace(n_coils: int = 3, height: int = 32, width: int = 24) -> np.ndarray:
    """Centred k-space (coils, y, x) of the object, fully sampled."""
    maps = torch.from_numpy(true_maps(n_coils, height, width))
    return fft2c(maps * picture(height, width)).numpy()


def noise(shape: tuple[int, ...], deviation: float, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    return (deviation * (draw.standard_normal(shape) + 1j * draw.standard_normal(shape))).astype(np.complex64)


def columns(kspace: np.ndarray, step: int, center: int) -> np.ndarray:
    """Every ``step``-th column and ``center`` columns in the middle; the rest zero."""
    width = kspace.shape[-1]
    keep = np.zeros(width, dtype=bool)
    keep[::step] = True
    keep[width // 2 - center // 2 : width // 2 - center // 2 + center] = True
    return np.where(keep, kspace, 0)


def acquisition(readout: np.ndarray, *, flags: tuple[int, ...] = (), **numbers) -> np.ndarray:
    """One acquisition (coils, samples); ``numbers`` go into its head, or into its counters."""
    one = np.zeros(1, dtype=ACQUISITION)
    head = one["head"]
    head["flags"] = sum(1 << (flag - 1) for flag in flags)
    head["active_channels"], head["number_of_samples"] = readout.shape
    head["center_sample"], head["sample_time_us"] = readout.shape[1] // 2, 5.0
    for name, value in numbers.items():
        (head["idx"] if name in HEAD["idx"].names else head)[name] = value
    one["traj"][0] = np.zeros(0, dtype=np.float32)
    one["data"][0] = readout.astype(np.complex64).reshape(-1).view(np.float32)
    return one


def lines_of(kspace: np.ndarray, **numbers) -> list[np.ndarray]:
    """The acquired columns of k-space (coils, y, x), as acquisitions."""
    found = np.flatnonzero(kspace.any(axis=(0, 1)))
    return [acquisition(kspace[:, :, column], kspace_encode_step_1=column, **numbers) for column in found]


def write_mrd(path: Path, acquisitions: list[np.ndarray], shape: tuple[int, int], **header) -> Path:
    """An ISMRMRD file; ``shape`` is samples and phase encoding steps."""
    x, y = shape
    fields = {
        "x": x, "y": y, "recon_x": x, "view_x": 2.0 * x, "view_y": 2.0 * y, "recon_view": 2.0 * x,
        "last": y - 1, "center": y // 2, "trajectory": "cartesian", "mode": "embedded",
    }  # fmt: skip
    with h5py.File(path, "w") as file:
        group = file.create_group("dataset")
        group.create_dataset("data", data=np.concatenate(acquisitions), maxshape=(None,), chunks=(1,))
        group.create_dataset("xml", data=[HEADER.format(**{**fields, **header})], dtype=h5py.string_dtype())
    return path


def write_cfl(path: Path, array: np.ndarray, sizes: tuple[int, ...]) -> Path:
    """A BART pair; the first of ``sizes`` varies fastest."""
    path.with_suffix(".hdr").write_text("# Dimensions\n" + " ".join(map(str, sizes)) + "\n# Command\nphantom\n")
    array.astype(np.complex64).reshape(-1).tofile(path)
    return path


def write_fastmri(path: Path, header: str | None = None, **arrays) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
        if header is not None:
            file["ismrmrd_header"] = header
    return path
