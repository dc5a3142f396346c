"""The order of slices in space, from the positions in ISMRMRD heads: scanners often acquire them interleaved."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

SAME_PLACE = 1e-2
"""Slices closer than this, in mm, are at one place."""
EVEN = 0.02
"""How far a distance between slices may be from a multiple of the smallest, relative to the smallest."""


class SliceOrder(NamedTuple):
    """The acquired slice for each place of a stack."""

    slices: tuple[int | None, ...]
    """The number of the acquired slice at every place along the normal; None for one that is missing."""
    positions: Float[np.ndarray, "slices 3"]
    """The centre of every place, in mm."""
    doubt: str = ""
    """Why it is not known where the slices lie, as the beginning of a sentence; empty if it is known."""

    def notes(self) -> list[str]:
        """What was changed, for people."""
        there = [number for number in self.slices if number is not None]
        missing = [place for place, number in enumerate(self.slices) if number is None]
        notes = []
        if there != sorted(there):
            notes.append(f"Slices were sorted by position; they were acquired as {', '.join(map(str, there))}.")
        if missing:
            notes.append(
                f"Slices {', '.join(map(str, missing))} (counted from 0 by position) were not acquired; empty ones "
                "stand in their places."
            )
        if self.doubt:
            notes.append(f"{self.doubt}, so where they lie is not written.")
        return notes


def slice_order(positions: Float[np.ndarray, "slices 3"], normal: Float[np.ndarray, "3"]) -> SliceOrder:
    """Sort slices along the normal of the stack, and find out which are missing.

    Args:
        positions: The centre of every acquired slice, in mm.
        normal: Direction from slice to slice, of length 1; any other length means that it is not known.

    Returns:
        The order as acquired, with a doubt, if the normal is not known or several slices are at one place. A stack
        whose distances are no multiples of the smallest is sorted, without places for missing slices.
    """
    acquired = SliceOrder(tuple(range(len(positions))), positions)
    if len(positions) < 2:
        return acquired
    if not np.isclose(np.linalg.norm(normal), 1, atol=1e-2):
        return acquired._replace(doubt="The direction from slice to slice is not known")
    along = positions @ normal
    order = np.argsort(along, kind="stable")
    steps = np.diff(along[order])
    smallest = float(steps.min())
    if smallest <= SAME_PLACE:
        return acquired._replace(doubt="Several slices are at one place")
    multiples = np.rint(steps / smallest).astype(int)
    even = bool(np.abs(steps / smallest - multiples).max() <= EVEN * multiples.max())
    # More places than that for missing slices are no stack with a gap, but two stacks.
    if not even or int(multiples.sum()) >= 2 * len(positions):
        return SliceOrder(tuple(int(number) for number in order), positions[order], "Slices are unevenly spaced")
    places = np.concatenate([[0], np.cumsum(multiples)])
    slices: list[int | None] = [None] * (int(places[-1]) + 1)
    for place, number in zip(places, order, strict=True):
        slices[place] = int(number)
    everywhere = np.arange(len(slices))
    centres = np.stack([np.interp(everywhere, places, positions[order, axis]) for axis in range(3)], axis=1)
    return SliceOrder(tuple(slices), centres)
