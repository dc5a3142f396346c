"""Tiny synthetic cases in each dataset's own file format, with the files a reader must leave alone beside them.

For tests, benchmarks and trying out commands without a data licence.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import nibabel
import numpy as np
import torch
from numpy.typing import NDArray

from somamba.data.case import Role
from somamba.data.catalog import DATASETS
from somamba.data.order import seed_of
from somamba.data.simulation.scanner import coil_maps, complex_noise, generator, smooth_phase
from somamba.errors import ConfigError
from somamba.physics.fourier import centre_crop, fft2c, ifft2c
from somamba.registry import Registry

NEVER_ACQUIRED = 2
"""Columns on either side that fastMRI-like files leave at zero."""


@dataclass(frozen=True)
class Written:
    """A case as a reader should find it."""

    id: str
    role: Role
    kspace: NDArray[np.complex64] | None = None
    image: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class Plan:
    """What one writer needs to know."""

    root: Path
    role: Role
    number: int
    slices: int
    shape: tuple[int, int]
    seed: int

    def images(self) -> NDArray[np.float32]:
        """Magnitudes (slices, y, x)."""
        return ellipses(self.slices, self.shape, seed=self.seed)

    def kspace(self, n_coils: int, shape: tuple[int, int]) -> NDArray[np.complex64]:
        """Centred k-space (slices, coils, y, x) with smooth coils, phase and a little noise."""
        images = torch.from_numpy(ellipses(self.slices, shape, seed=self.seed))
        maps = coil_maps(n_coils, shape, seed=self.seed) * smooth_phase(shape, seed=self.seed + 1)
        kspace = fft2c(images[:, None] * maps)
        return (kspace + complex_noise(tuple(kspace.shape), 1.0, seed=self.seed + 2)).numpy()


def write_phantom(
    name: str,
    root: Path,
    *,
    cases: Mapping[Role, int] | None = None,
    slices: int | None = None,
    shape: tuple[int, int] = (32, 24),
    seed: int = 0,
) -> tuple[Written, ...]:
    """Write synthetic cases of a dataset and return what its reader must give back, bit for bit.

    Args:
        name: Name in the catalogue.
        root: Folder of the dataset; made if it is missing.
        cases: How many cases of each official part; by default three to train on and one to test on.
        slices: Slices of a volume; by default four valid ones.
        shape: Rows and columns of the images, both even.
        seed: Names the images.
    """
    if shape[0] % 2 or shape[1] % 2 or min(shape) < 16:
        raise ConfigError(f"shape={shape}: phantoms have an even number of rows and columns, at least 16.")
    margin = DATASETS[name].slices.margin
    slices = 2 * margin + 4 if slices is None else slices
    wanted = {"train": 3, "test": 1} if cases is None else cases
    written: list[Written] = []
    for role in ("train", "val", "test"):
        for number in range(1, wanted.get(role, 0) + 1):
            plan = Plan(root, role, number, slices, shape, seed_of("phantom", name, role, number, seed))
            written.append(WRITERS[name](plan))
    return tuple(written)


def ellipses(slices: int, shape: tuple[int, int], *, seed: int) -> NDArray[np.float32]:
    """A body with some organs, slightly different from slice to slice; whole numbers up to 1000.

    Args:
        slices: The number of slices.
        shape: Rows and columns of each.
        seed: The seed of the organs.
    """
    draw = generator(seed)
    y, x = np.meshgrid(*(np.linspace(-1, 1, size) for size in shape), indexing="ij")
    volume = np.where((y / 0.9) ** 2 + (x / 0.75) ** 2 < 1, 200.0, 0.0)[None].repeat(slices, axis=0)
    for _ in range(6):
        center, radii = draw.uniform(-0.45, 0.45, 2), draw.uniform(0.12, 0.35, 2)
        shift, brightness = draw.uniform(-0.05, 0.05, slices), draw.uniform(20, 130)
        inside = ((y - center[0] - shift[:, None, None]) / radii[0]) ** 2 + ((x - center[1]) / radii[1]) ** 2 < 1
        volume += brightness * inside
    return np.round(volume).astype(np.float32)


def _fastmri(plan: Plan, *, kind: str, n_coils: int) -> Written:
    height, width = plan.shape
    kspace = plan.kspace(n_coils, (2 * height, width))
    kspace[..., :NEVER_ACQUIRED] = kspace[..., -NEVER_ACQUIRED:] = 0
    image = centre_crop(_coil_sum(kspace), plan.shape)
    folder = plan.root / f"{kind}_{'train' if plan.role == 'train' else 'val'}"
    series = f"file1{'0' if plan.role == 'train' else '1'}"
    stored = kspace if kind == "multicoil" else kspace[:, 0]
    _hdf5(folder / f"{series}{plan.number:05d}.h5", {"kspace": stored, "reconstruction_rss": image}, "CORPDFS_FBK")
    if plan.number == 1:
        # One file without fat suppression, and one official test file: neither is to be used for single-coil results.
        if kind == "singlecoil":
            _hdf5(folder / f"{series}90000.h5", {"kspace": stored, "reconstruction_rss": image}, "CORPD_FBK")
        mask = np.arange(width) % 4 == 0
        _hdf5(plan.root / f"{kind}_test" / "file1000000.h5", {"kspace": stored * mask, "mask": mask}, "CORPDFS_FBK")
    return Written(f"{series}{plan.number:05d}", plan.role, kspace=kspace, image=image)


def _m4raw(plan: Plan) -> Written:
    kspace = plan.kspace(4, plan.shape)
    image = _coil_sum(kspace)
    study = f"20220{['train', 'val', 'test'].index(plan.role) + 1}{plan.number:04d}"
    folder = plan.root / f"multicoil_{plan.role}"
    for contrast in ("T101", "T201"):
        arrays = {"kspace": kspace, "reconstruction_rss": image}
        _hdf5(folder / f"{study}_{contrast}.h5", arrays, f"AX{contrast[:2]}", prefix="ns0:")
    return Written(f"{study}_T101", plan.role, kspace=kspace, image=image)


def _cc359(plan: Plan, *, suffix: str, n_coils: int) -> Written:
    kspace = plan.kspace(n_coils, plan.shape)
    # Undo what makes k-space centred: shift the zero frequency to the corner, and the image by half its size.
    sign = (-1.0) ** np.add.outer(*(np.arange(size) for size in plan.shape))
    uncentred = (np.fft.ifftshift(kspace, axes=(-2, -1)) * sign).astype(np.complex64)
    stored = np.ascontiguousarray(np.moveaxis(uncentred, 1, -1)).view(np.float32)
    name = f"e1{'40' if plan.role == 'train' else '50'}{plan.number:02d}s3_P18944.7"
    path = plan.root / ("Train" if plan.role == "train" else "Val") / f"{name}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if suffix == ".npy":
        np.save(path, stored, allow_pickle=False)
    else:
        _hdf5(path, {"kspace": stored}, None)
    return Written(name, plan.role, kspace=kspace)


def _acdc(plan: Plan) -> Written:
    number = plan.number + (0 if plan.role == "train" else 100)
    name = f"patient{number:03d}"
    folder = plan.root / ("training" if plan.role == "train" else "testing") / name
    first, second = (1, 9) if plan.number % 2 else (4, 11)
    _text(folder / "Info.cfg", f"ED: {first}\nES: {second}\nGroup: DCM\nHeight: 184.0\nNbFrame: 12\nWeight: 95.0\n")
    images = plan.images()
    middle = plan.slices // 2
    for frame, volume, kind in ((first, images[:middle], np.float32), (second, images[middle:], np.int16)):
        _nifti(folder / f"{name}_frame{frame:02d}.nii.gz", volume.astype(kind))
        _nifti(folder / f"{name}_frame{frame:02d}_gt.nii.gz", (volume > 0).astype(np.uint8))
    _nifti(folder / f"{name}_4d.nii.gz", np.stack([images[:middle]] * 2).astype(np.int16))
    return Written(name, plan.role, image=images)


def _prostate158(plan: Plan) -> Written:
    images = plan.images()
    name = f"{plan.number + (0 if plan.role == 'train' else 139):03d}"
    folder = plan.root / f"prostate158_{plan.role}" / plan.role / name
    _nifti(folder / "t2.nii.gz", images)
    _nifti(folder / "adc.nii.gz", images)
    _nifti(folder / "t2_anatomy_reader1.nii.gz", (images > 0).astype(np.uint8))
    return Written(name, plan.role, image=images)


def _brain_t1w(plan: Plan) -> Written:
    images = plan.images()
    number = {"train": plan.number, "val": 8 * plan.number - 1, "test": 8 * plan.number}[plan.role]
    name = f"sub-{number:02d}"
    _nifti(plan.root / name / "anat" / f"{name}_T1w.nii.gz", images)
    _nifti(plan.root / name / "func" / f"{name}_task-rest_bold.nii.gz", np.stack([images] * 2))
    return Written(name, plan.role, image=images)


def _heads(plan: Plan) -> Written:
    images = plan.images()
    name = {"train": f"t1_head{plan.number}", "val": "t1_mprage_elition3t", "test": "t1_mprage_skyra3t_child"}[
        plan.role
    ]
    plan.root.mkdir(parents=True, exist_ok=True)
    pixels = np.moveaxis(images, 0, -1).astype(np.uint16)
    np.savez(plan.root / f"{name}.npz", allow_pickle=False, x=pixels, spacing=np.ones(2))
    _text(plan.root / "README.md", "Where the volumes come from.\n")
    return Written(name, plan.role, image=images)


def _heads_and_brains(plan: Plan) -> Written:
    name, write = ("heads", _heads) if plan.number % 2 else ("brain_t1w", _brain_t1w)
    for part in ("heads", "brain_t1w"):
        (plan.root / part).mkdir(parents=True, exist_ok=True)
    return write(replace(plan, root=plan.root / name))


def _folder(plan: Plan) -> Written:
    images = plan.images()
    name = f"{plan.role}{plan.number}"
    _nifti(plan.root / plan.role / name / "image.nii.gz", images)
    _text(plan.root / "notes.txt", "Not an image.\n")
    return Written(f"{name}/image", plan.role, image=images)


WRITERS: Registry[Callable[[Plan], Written]] = Registry(
    "dataset",
    {
        "fastmri": lambda plan: _fastmri(plan, kind="singlecoil", n_coils=1),
        "fastmri_multicoil": lambda plan: _fastmri(plan, kind="multicoil", n_coils=3),
        "cc359": lambda plan: _cc359(plan, suffix=".npy", n_coils=1),
        "cc359_multicoil": lambda plan: _cc359(plan, suffix=".h5", n_coils=12),
        "acdc": _acdc,
        "m4raw": _m4raw,
        "prostate158": _prostate158,
        "brain_t1w": _brain_t1w,
        "heads": _heads,
        "heads_and_brains": _heads_and_brains,
        "folder": _folder,
    },
)


def _coil_sum(kspace: NDArray[np.complex64]) -> NDArray[np.float32]:
    images = ifft2c(torch.from_numpy(kspace)).numpy()
    return np.linalg.norm(images, axis=1).astype(np.float32)


def _hdf5(path: Path, arrays: Mapping[str, NDArray[Any]], acquisition: str | None, prefix: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
        if acquisition is not None:
            file["ismrmrd_header"] = _header(arrays["kspace"].shape, prefix)
            file.attrs.update({"acquisition": acquisition, "max": 1.0, "patient_id": "synthetic"})


def _header(shape: tuple[int, ...], prefix: str) -> bytes:
    """As much of an ISMRMRD header as the readers look at: pixels of 0.5 mm, slices of 3 mm."""
    sizes = {"x": shape[-2], "y": shape[-1], "z": 1}
    view = "".join(f"<{prefix}{a}>{3.0 if a == 'z' else 0.5 * n}</{prefix}{a}>" for a, n in sizes.items())
    matrix = "".join(f"<{prefix}{a}>{n}</{prefix}{a}>" for a, n in sizes.items())
    space = f"<{prefix}matrixSize>{matrix}</{prefix}matrixSize><{prefix}fieldOfView_mm>{view}</{prefix}fieldOfView_mm>"
    encoding = "".join(f"<{prefix}{tag}>{space}</{prefix}{tag}>" for tag in ("encodedSpace", "reconSpace"))
    namespace = f"xmlns{':' + prefix[:-1] if prefix else ''}='http://www.ismrm.org/ISMRMRD'"
    return (
        f"<?xml version='1.0'?><{prefix}ismrmrdHeader {namespace}><{prefix}encoding>{encoding}"
        f"</{prefix}encoding></{prefix}ismrmrdHeader>"
    ).encode()


def _nifti(path: Path, volume: NDArray[Any]) -> None:
    """Write (z, y, x) in NIfTI's order (x, y, z), voxels of 1.5 mm, slices of 10 mm."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image: Any = nibabel.Nifti1Image
    image(volume.T, np.diag([1.5, 1.5, 10.0, 1.0])).to_filename(path)


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
