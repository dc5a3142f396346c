"""Samples that a reconstruction does not see, so that they can say how good it is without knowing the truth.

A strength, a weight or the moment to stop is chosen by how well the samples that were held out are predicted. They are
measured like all others, so this works on every scan.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor

from somamba.errors import InputError
from somamba.physics.encoding import Sampling, coil_maps, encoding
from somamba.physics.fourier import fft2c, ifft2c
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images, KSpace

CENTRE = 4
"""Samples closer than this to the centre of k-space, along both axes, are never held out, because nothing predicts
them. In small images it is an eighth of the side."""
EVERY = 4
"""One in so many lines outside of the calibration block is held out."""
LEAST_BLOCK = 8
"""A calibration block of so many lines loses the two at its edges; a narrower one is left alone."""
SCATTERED = 0.15
"""Share of the samples that is held out if they do not lie on whole columns."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Measurements in two parts: what a reconstruction sees, and what it is compared with."""

    y: KSpace
    """What is seen, zero elsewhere."""
    A: LinearOperator
    """The operator of the samples that are seen."""
    hidden: KSpace
    """What is held out, zero elsewhere."""
    hidden_operator: LinearOperator

    def residual(self, images: Images) -> Float[Tensor, " batch"]:
        """How far an image is from what was held out, of each slice: 0 predicts it exactly, 1 not at all.

        Samples differ by orders of magnitude, so it is the mean of two relative distances: of squares, which a few
        strong samples decide, and of magnitudes, which all samples decide.
        """
        rest = (self.hidden_operator(images) - self.hidden).abs().flatten(start_dim=1)
        size = self.hidden.abs().flatten(start_dim=1)
        squares = torch.linalg.vector_norm(rest, dim=1) / torch.linalg.vector_norm(size, dim=1)
        return (squares + rest.sum(dim=1) / size.sum(dim=1)) / 2

    def rows(self, rows: slice) -> "HeldOut":
        """Both parts of some rows of the image; of all rows unless whole columns were acquired, which mix none."""
        if sampled_mask(self.A).shape[-2] > 1:
            return self
        return HeldOut(*some_rows(self.y, self.A, rows), *some_rows(self.hidden, self.hidden_operator, rows))


def sampled_mask(A: LinearOperator) -> Bool[Tensor, "masks 1 #y x"]:
    """What an operator samples.

    Raises:
        InputError: the operator has no mask.
    """
    for factor in A.factors:
        if isinstance(factor, Sampling):
            return factor.mask
    raise InputError(f"{A!r} has no mask that says which samples were acquired.")


def without_gaps(mask: Bool[Tensor, "masks 1 #y x"]) -> bool:
    """Whether neighbouring columns were acquired, and only those: what is missing lies at the edges, if anything is."""
    rows, columns = mask.any(dim=-1, keepdim=True), mask.any(dim=-2, keepdim=True)
    if not torch.equal(mask, (rows & columns).expand_as(mask)):
        return False
    # A gap begins where a line is missing after one that was acquired; without gaps there is at most one such place.
    ends = (columns[..., :-1] & ~columns[..., 1:]).sum(dim=-1) + columns[..., -1].long()
    return bool((ends == 1).all())


def with_mask(A: LinearOperator, mask: Bool[Tensor, "masks 1 #y x"]) -> LinearOperator:
    """Return the operator of the same coils under another mask."""
    return encoding(mask, coil_maps(A))


def some_rows(
    y: KSpace, A: LinearOperator, rows: slice
) -> tuple[Complex[Tensor, "batch coils rows x"], LinearOperator]:
    """What was measured of some rows of the image, of which whole columns were acquired.

    Args:
        y: The measurements.
        A: Their operator, with a mask of whole columns.
        rows: The rows of the image.
    """
    maps = coil_maps(A)
    return fft2c(ifft2c(y)[..., rows, :]), encoding(sampled_mask(A), None if maps is None else maps[..., rows, :])


def joined(parts: Sequence[HeldOut]) -> HeldOut:
    """Several of the same size as one batch, one after the other."""
    first = [torch.cat(one) for one in zip(*((part.y, part.hidden) for part in parts), strict=True)]
    operators = [_joined_operator(list(one), len(parts[0].y)) for one in zip(*map(_operators, parts), strict=True)]
    return HeldOut(first[0], operators[0], first[1], operators[1])


def _operators(parts: HeldOut) -> tuple[LinearOperator, LinearOperator]:
    return parts.A, parts.hidden_operator


def _joined_operator(operators: Sequence[LinearOperator], n_slices: int) -> LinearOperator:
    """The operator of a batch; a mask or a map that serves all slices of a part is repeated for each."""
    masks = torch.cat([sampled_mask(A).expand(n_slices, -1, -1, -1) for A in operators])
    maps = [maps.expand(n_slices, *maps.shape[1:]) for A in operators if (maps := coil_maps(A)) is not None]
    return encoding(masks, torch.cat(maps) if maps else None)


def hold_out(y: KSpace, A: LinearOperator, seed: int, number: int = 0) -> HeldOut:
    """Hold samples out in the manner in which others were never acquired.

    Of whole columns, every fourth line outside of the calibration block is held out, and the two lines at its edges.
    What remains is a mask like those that networks are trained with. Of other masks, scattered samples are held out.
    On simulated scans the lines choose strengths within 0.1 dB of the best ones; scattered samples overrate images
    without a network by up to 1 dB, because the neighbours on the same line predict them.

    Args:
        y: The measurements.
        A: Their operator, with a mask.
        seed: Names the lines or samples; slices of a batch do not depend on each other.
        number: Which set of them; of whole columns there are `EVERY`, which share the edges of the block only.

    Raises:
        InputError: there are no samples outside of the centre.
    """
    mask = sampled_mask(A)
    hidden = torch.stack([_hidden(one, y.shape[-2], seed, number) for one in mask[:, 0]])[:, None].to(mask.device)
    if not bool(hidden.flatten(start_dim=1).any(dim=1).all()):
        raise InputError("No sample outside of the centre of k-space was acquired, so none can be held out.")
    return split(y, A, hidden)


def _hidden(mask: Bool[Tensor, "#y x"], height: int, seed: int, number: int) -> Bool[Tensor, "#y x"]:
    """What is held out of one slice."""
    generator = torch.Generator().manual_seed(seed)
    mask = mask.cpu()
    columns = mask.any(dim=0)
    if torch.equal(mask, mask.any(dim=1, keepdim=True) & columns):
        hidden = torch.zeros_like(columns)
        first = (int(torch.randint(EVERY, (), generator=generator)) + number) % EVERY
        hidden[_held_lines(columns, first)] = True
        if bool(hidden.any()):
            return mask & hidden
    return [scattered(mask, height, SCATTERED, generator) for _ in range(number + 1)][number]


def scattered(
    mask: Bool[Tensor, "*masks #y x"], height: int, share: float, generator: torch.Generator
) -> Bool[Tensor, "*masks rows x"]:
    """Draw samples of a mask, none of them close to the centre of k-space.

    Args:
        mask: What was acquired.
        height: The rows of k-space.
        share: So many of the samples, about.
        generator: Draws them.
    """
    width = mask.shape[-1]
    drawn = torch.rand(*mask.shape[:-2], height, width, generator=generator) < share
    drawn[..., _around(height), _around(width)] = False
    return mask & drawn.to(mask.device)


def _held_lines(columns: Bool[Tensor, " x"], first: int) -> list[int]:
    """The lines to hold out: some outside of the calibration block, and the two at its edges."""
    centre = len(columns) // 2
    start = stop = centre
    while start > 0 and bool(columns[start - 1]):
        start -= 1
    while stop < len(columns) and bool(columns[stop]):
        stop += 1
    outside = [line for line in columns.nonzero().flatten().tolist() if not start <= line < stop]
    edges = [start, stop - 1] if stop - start >= LEAST_BLOCK else []
    return [*outside[min(first, max(0, len(outside) - 1)) :: EVERY], *edges]


def split(y: KSpace, A: LinearOperator, hidden: Bool[Tensor, "masks 1 #y x"]) -> HeldOut:
    """Part measurements into what is seen and what is not; one mask serves all slices, or each has its own.

    Args:
        y: The measurements.
        A: How they were measured.
        hidden: The samples that are not seen.
    """
    mask = sampled_mask(A)
    seen, hidden = mask & ~hidden, mask & hidden
    return HeldOut(torch.where(seen, y, 0), with_mask(A, seen), torch.where(hidden, y, 0), with_mask(A, hidden))


def _around(size: int) -> slice:
    reach = min(CENTRE, size // 8)
    return slice(size // 2 - reach, size // 2 + reach)
