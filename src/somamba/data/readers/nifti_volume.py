"""A case that is one NIfTI volume of magnitudes."""

from functools import partial

from somamba.data.case import Case, Entry
from somamba.files.reading import Volume, inspect, read


def open_case(entry: Entry) -> Case:
    """Check the volume and return its case."""
    (path,) = entry.files
    info = inspect(path)
    shape, voxel = info.array("image", axes=3, kinds="f").shape, info.voxel
    return Case(
        id=entry.id,
        source=str(path),
        image=Volume(shape=shape, read=partial(read, path, "image"), itemsize=4),
        voxel=None if voxel is None else (voxel[0], voxel[1], voxel[2]),
    )
