"""Two validation cases with different numbers of slices."""

import shutil

from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.data.slices import open_slices


def uneven_slices(folder, counts=(5, 2), **settings):
    """Slices of patient001 and patient004, so many of each."""
    for name, count in zip(("first", "second"), counts, strict=True):
        write_phantom("acdc", folder / name, cases={"train": 4, "test": 1}, slices=count)
    (place,) = (folder / "second").rglob("patient004")
    shutil.rmtree(folder / "first" / place.relative_to(folder / "second"))
    shutil.copytree(place, folder / "first" / place.relative_to(folder / "second"))
    config = DataConfig(path=str(folder / "first"), cache=str(folder / "cache"), size=(16, 20), **settings)
    slices = open_slices(config, "val")
    assert [len(case.slices) for case in slices.cases] == list(counts)
    return slices
