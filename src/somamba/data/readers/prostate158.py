"""Prostate158, T2-weighted NIfTI (Adams et al. 2022).

``train/024/t2.nii.gz`` beside diffusion images and segmentations; the archives unpack to ``prostate158_train/train``
and ``prostate158_test/test``.
"""

from collections.abc import Mapping
from pathlib import Path

from somamba.data.case import Entry, LeftOut, Listing, Role
from somamba.data.readers.folders import official_folders, open_nifti
from somamba.errors import DataError

open_case = open_nifti
ROLES: Mapping[str, Role] = {
    "prostate158_train/train": "train",
    "prostate158_test/test": "test",
    "train": "train",
    "test": "test",
}


def find(root: Path) -> Listing:
    """List the patients; an unknown ``valid`` folder is refused rather than guessed at."""
    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    for folder, role in official_folders(root, ROLES, "Prostate158"):
        if (folder.parent / "valid").is_dir():
            raise DataError(
                f"{folder.parent / 'valid'}: in the layout we know, the 139 training cases are all under train/. "
                "If your copy keeps the validation cases apart, move them there: validation is carved by case."
            )
        for patient in sorted(path for path in folder.iterdir() if path.is_dir()):
            image = patient / "t2.nii.gz"
            entries.append(Entry(id=patient.name, subject=patient.name, role=role, files=(image,), root=root))
            left_out.extend(
                LeftOut(name=f"{patient.name}/{path.name}", reason="not the T2 image")
                for path in sorted(patient.glob("*.nii.gz"))
                if path != image
            )
    return Listing(entries=tuple(entries), left_out=tuple(left_out))
