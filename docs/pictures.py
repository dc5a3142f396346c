"""Keeps the pictures of the demo and the examples for the site, small: ``python docs/pictures.py FOLDER``.

The folder is what the examples wrote to; see ``make pictures``.
"""

import sys
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parent
WIDTH = 1600
"""Pixels across at most; a column of the site has half as many."""


def keep(source: Path, place: Path) -> None:
    """Write a picture as WebP or PNG, by its ending, no wider than `WIDTH`."""
    with Image.open(source) as picture:
        picture.thumbnail((WIDTH, 10 * WIDTH), Image.Resampling.LANCZOS)
        options = {"quality": 85, "method": 6} if place.suffix == ".webp" else {"optimize": True}
        picture.save(place, **options)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    keep(folder / "demo" / "demo.png", DOCS / "figures" / "real_scan_x4.webp")
    for source in sorted(folder.glob("*.png")):
        keep(source, DOCS / "examples" / source.name)
