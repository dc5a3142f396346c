"""M4Raw, 0.3 T brain, four coils, HDF5 (Lyu et al. 2023).

``multicoil_train/2022061003_T101.h5``: study, contrast and repetition in the name; ``kspace`` (18, 4, 256, 256)
complex64, centred; ``reconstruction_rss`` (18, 256, 256). Repetitions are cases of their own, but one study never
straddles two splits.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from somamba.data.case import Entry, LeftOut, Listing, Role
from somamba.data.readers import fastmri
from somamba.data.readers.folders import official_folders
from somamba.errors import DataError
from somamba.raw.naming import stem

ROLES: Mapping[str, Role] = {"multicoil_train": "train", "multicoil_val": "val", "multicoil_test": "test"}
open_case = partial(fastmri.open_case, multicoil=True, acquisition=None)
"""Checks one file and returns its case."""
NAME = re.compile(r"(?P<study>[^_]+)_(?P<contrast>T1|T2|FLAIR)(?P<repetition>\d\d)")


def find(root: Path, *, contrast: str) -> Listing:
    """List the files of one contrast."""
    entries: list[Entry] = []
    left_out: list[LeftOut] = []
    for folder, role in official_folders(root, ROLES, "M4Raw"):
        for path in sorted(folder.glob("*.h5")):
            name = NAME.fullmatch(stem(path.name))
            if name is None:
                raise DataError(f"{path}: M4Raw files are named like 2022061003_T101.h5 (study, contrast, repetition).")
            if name["contrast"] != contrast:
                left_out.append(LeftOut(name=path.name, reason=f"contrast {name['contrast']}, not {contrast}"))
                continue
            entries.append(Entry(id=stem(path.name), subject=name["study"], role=role, files=(path,), root=root))
    return Listing(entries=tuple(entries), left_out=tuple(left_out))
