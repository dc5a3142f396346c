"""Whole heads and skull-stripped brains together: the datasets `heads` and `brain_t1w` side by side in one folder."""

from pathlib import Path

from somamba.data.case import Case, Entry, LeftOut, Listing
from somamba.data.readers import brain_t1w, heads

PARTS = {"heads": heads, "brain_t1w": brain_t1w}
"""Folder and reader of each part; both have splits of their own."""


def find(root: Path) -> Listing:
    """List the cases of both parts."""
    listings = [reader.find(root / name) for name, reader in PARTS.items()]
    return Listing(
        entries=tuple(entry for listing in listings for entry in listing.entries),
        left_out=tuple(item for listing in listings for item in listing.left_out),
    )


def open_case(entry: Entry) -> Case | LeftOut:
    """Check one volume and return its case."""
    return PARTS[entry.root.name].open_case(entry)
