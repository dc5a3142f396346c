"""T1-weighted brains of OpenNeuro ds002748, NIfTI (Bezmaternykh et al. 2021): skull-stripped magnitudes, CC0.

``sub-01/anat/sub-01_T1w.nii.gz`` as BIDS has it, or all files in one folder. Slices are axial, as stored. There is no
official split: of every eight subjects the eighth is for testing and the seventh for validation, so a copy with some
subjects missing keeps the same parts.
"""

import re
from pathlib import Path

from somamba.data.case import Entry, LeftOut, Listing, Role
from somamba.data.readers.folders import open_nifti
from somamba.errors import DataError

IMAGE = re.compile(r"(sub-(\d+))_T1w\.nii\.gz")
open_case = open_nifti
PERIOD = 8


def find(root: Path) -> Listing:
    """List the T1-weighted volumes, in the layout of BIDS or side by side."""
    if not root.is_dir():
        raise DataError(
            f"{root} is not a folder. ds002748 is expected there, with sub-01/anat/sub-01_T1w.nii.gz inside."
        )
    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    for path in sorted([*root.glob("*.nii.gz"), *root.glob("sub-*/*/*.nii.gz")]):
        name = IMAGE.fullmatch(path.name)
        if name is None:
            left_out.append(LeftOut(name=path.name, reason="not a T1-weighted volume"))
            continue
        subject = name[1]
        entries.append(Entry(id=subject, subject=subject, role=role_of(int(name[2])), files=(path,), root=root))
    return Listing(entries=tuple(entries), left_out=tuple(left_out))


def role_of(number: int) -> Role:
    """The part that a subject belongs to, by its number alone."""
    if number % PERIOD == 0:
        return "test"
    return "val" if number % PERIOD == PERIOD - 1 else "train"


def is_stripped(case_id: str) -> bool:
    """Whether a case of this name is one of these brains, which have lost their skull and scalp."""
    return re.fullmatch(r"sub-\d+", case_id) is not None
