"""What readers of official archives share: their folders, names of files, and volumes in NIfTI."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from somamba.data.case import Case, Entry, Role
from somamba.errors import DataError
from somamba.files.reading import Volume, inspect, read


def official_folders(root: Path, roles: Mapping[str, Role], dataset: str) -> Iterator[tuple[Path, Role]]:
    """Pairs of an official folder that exists and its role; ``root`` may also be such a folder itself.

    Args:
        root: The folder of the dataset.
        roles: The role of every official folder by its name.
        dataset: The name of the dataset, for the message.
    """
    if not root.is_dir():
        raise DataError(f"{root} is not a folder. {dataset} is expected there, with {_names(roles)} inside.")
    found = [(root / name, role) for name, role in roles.items() if (root / name).is_dir()]
    if not found:
        found = [(root, role) for name, role in roles.items() if root.absolute().match(name)][:1]
    if not found:
        inside = sorted(path.name for path in root.iterdir())[:5]
        raise DataError(
            f"{root} does not look like {dataset}: none of {_names(roles)} is inside"
            f"{', but ' + ', '.join(inside) if inside else '; it is empty'}. "
            "Point to the folder that holds the official archives, unpacked."
        )
    yield from found


def _names(roles: Mapping[str, Role]) -> str:
    return ", ".join(f"{name}/" for name in roles)


def open_nifti(entry: Entry) -> Case:
    """Check a case that is one NIfTI volume of magnitudes, and return it."""
    (path,) = entry.files
    shape = inspect(path).array("image", axes=3, kinds="f").shape
    return Case(
        id=entry.id,
        source=str(path),
        image=Volume(shape=shape, read=partial(read, path, "image"), itemsize=4),
    )
