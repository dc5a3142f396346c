"""The benchmarks of the paper, their multi-coil siblings, and brains free to learn from: layout, splits, terms."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from somamba.data.case import Case, Entry, LeftOut, Listing, Role
from somamba.data.readers import acdc, brain_t1w, cc359, fastmri, folder, heads, heads_and_brains, m4raw, prostate158
from somamba.data.splits import ACDC_VALIDATION, Validation, divide
from somamba.errors import DataError
from somamba.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Slices:
    """Which slices of a volume count: a margin at both ends is left out, or only a block in the middle is kept."""

    margin: int = 0
    central: int | None = None

    def of(self, n: int) -> range:
        """The valid ones among ``n`` slices."""
        if self.central is not None and n > self.central:
            start = int(n / 2 - self.central / 2)
            return range(start, start + self.central)
        return range(self.margin, max(self.margin, n - self.margin))


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Everything somamba knows about one dataset."""

    title: str
    layout: str
    """The places in which the reader expects files, for help texts."""
    find: Callable[[Path], Listing]
    open_case: Callable[[Entry], Case | LeftOut]
    kspace: bool | None
    """Whether the files hold measured k-space; else protocol ``raw`` simulates it. None: each file by itself."""
    size: tuple[int, int] | None = None
    """Rows and columns of prepared images; None keeps those of the file."""
    fit: Literal["crop", "resize"] = "crop"
    """How an image of another size is brought to ``size``."""
    mask: str = "equispaced"
    """Kind of the sampling mask, as in `somamba.physics.masks.MASKS`."""
    slices: Slices = Slices()
    validation: float | frozenset[str] | None = None
    """How validation is carved from training, as `somamba.data.splits.divide` takes it."""
    stripped: Callable[[str], bool] = lambda _case_id: False
    """Whether the case of this name shows a brain without its head, which a varied scan may draw around it."""


DATASETS = Registry(
    "dataset",
    {
        "fastmri": Dataset(
            title="fastMRI knee, single coil, proton density with fat suppression",
            layout="PATH/singlecoil_{train,val}/file1000001.h5",
            find=partial(fastmri.find, roles=fastmri.SINGLECOIL),
            open_case=partial(fastmri.open_case, multicoil=False, acquisition=fastmri.PDFS),
            kspace=True,
            size=(320, 320),
            slices=Slices(central=20),
            validation=0.1,
        ),
        "fastmri_multicoil": Dataset(
            title="fastMRI knee or brain, multi-coil, all acquisitions",
            layout="PATH/multicoil_{train,val}/file1000001.h5",
            find=partial(fastmri.find, roles=fastmri.MULTICOIL),
            open_case=partial(fastmri.open_case, multicoil=True, acquisition=None),
            kspace=True,
            validation=0.1,
        ),
        "cc359": Dataset(
            title="Calgary-Campinas raw brain k-space, single channel",
            layout="PATH/{Train,Val}/e14080s3_P18944.7.npy",
            find=partial(cc359.find, suffix=".npy"),
            open_case=partial(cc359.open_case, array="array"),
            kspace=True,
            size=(256, 256),
            slices=Slices(margin=30),
            validation=0.2,
        ),
        "cc359_multicoil": Dataset(
            title="Calgary-Campinas raw brain k-space, twelve channels",
            layout="PATH/{Train,Val}/e14089s3_P53248.7.h5",
            find=partial(cc359.find, suffix=".h5"),
            open_case=partial(cc359.open_case, array="kspace"),
            kspace=True,
            slices=Slices(margin=50),
            validation=0.2,
        ),
        "acdc": Dataset(
            title="ACDC cardiac cine, end diastole and end systole",
            layout="PATH/{training,testing}/patient001/{Info.cfg,patient001_frame01.nii.gz}",
            find=acdc.find,
            open_case=acdc.open_case,
            kspace=False,
            size=(128, 128),
            mask="golden-radial",
            validation=ACDC_VALIDATION,
        ),
        "m4raw": Dataset(
            title="M4Raw brain at 0.3 T, four coils, T1-weighted",
            layout="PATH/multicoil_{train,val,test}/2022061003_T101.h5",
            find=partial(m4raw.find, contrast="T1"),
            open_case=m4raw.open_case,
            kspace=True,
            size=(256, 256),
        ),
        "prostate158": Dataset(
            title="Prostate158, T2-weighted",
            layout="PATH/prostate158_{train/train,test/test}/024/t2.nii.gz",
            find=prostate158.find,
            open_case=prostate158.open_case,
            kspace=False,
            size=(224, 224),
            fit="resize",
            mask="random",
            validation=20 / 139,
        ),
        "brain_t1w": Dataset(
            title="OpenNeuro ds002748, T1-weighted brains, skull-stripped",
            layout="PATH/sub-01/anat/sub-01_T1w.nii.gz or PATH/sub-01_T1w.nii.gz",
            find=brain_t1w.find,
            open_case=brain_t1w.open_case,
            kspace=False,
            # From 0.87 mm to 1.12 mm: the field of view of a head scan, with room for what was stripped off.
            size=(224, 224),
            fit="resize",
            slices=Slices(central=80),
            stripped=brain_t1w.is_stripped,
        ),
        "heads": Dataset(
            title="Whole heads and other anatomy of many contrasts and vendors, magnitude",
            layout="PATH/t1_mprage_prisma3t.npz",
            find=heads.find,
            open_case=heads.open_case,
            kspace=False,
        ),
        "heads_and_brains": Dataset(
            title="heads and brain_t1w side by side",
            layout="PATH/heads/t1_mprage_prisma3t.npz and PATH/brain_t1w/sub-01_T1w.nii.gz",
            find=heads_and_brains.find,
            open_case=heads_and_brains.open_case,
            kspace=False,
            # All slices of a head; of a brain as many as `brain_t1w` has.
            slices=Slices(central=80),
            stripped=brain_t1w.is_stripped,
        ),
        "folder": Dataset(
            title="a folder of your own images or raw scans",
            layout="PATH/[train|val|test/][SUBJECT/]NAME.{nii.gz,npy,npz,h5,mrd,dcm}",
            find=folder.find,
            open_case=folder.open_case,
            kspace=None,
            size=(192, 192),
            fit="resize",
        ),
    },
)


def split_entries(name: str, path: Path, split: Role, *, validation: Validation = "carved") -> tuple[Entry, ...]:
    """The cases of one split of a dataset, nothing opened yet.

    Args:
        name: The name of the dataset.
        path: Its folder.
        split: The wanted split.
        validation: ``carved`` holds some of the official training cases out for validation, ``none`` does not.
    """
    dataset = DATASETS[name]
    entries = divide(dataset.find(path).entries, dataset.validation if validation == "carved" else None, name)[split]
    if not entries and split == "val" and validation == "none":
        raise DataError(
            f"{name} has no validation cases with validation: none, as all official training cases are trained on. "
            "Set validation: carved, or choose another split."
        )
    if not entries:
        raise DataError(f"{path} holds no case of the {split!r} split of {name}. Expected layout: {dataset.layout}")
    return entries
