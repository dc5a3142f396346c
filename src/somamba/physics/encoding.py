"""The MRI forward model ``A = M F S``: coils, then Fourier, then sampling; and the checks of what enters it."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from somamba.errors import InputError
from somamba.physics.fourier import check_precision, fft2c, ifft2c, mask_filter
from somamba.physics.operator import Composed, LinearOperator
from somamba.runtime.device import runs_ahead
from somamba.shapes import CoilImages, Image, Images, KSpace, MapSets, Mask


@dataclass(frozen=True, eq=False, repr=False)
class Coils(LinearOperator):
    """S: one image to one image per coil, by sensitivity."""

    maps: CoilImages

    @override
    def __call__(self, x: Image) -> CoilImages:
        return self.maps * x

    @override
    def adjoint(self, y: CoilImages) -> Image:
        if torch.is_grad_enabled() and (y.requires_grad or self.maps.requires_grad):
            return (self.maps.conj() * y).sum(dim=1, keepdim=True)
        # Coil by coil, what is added up stays in the cache: half the time.
        conjugate = self.maps.conj().resolve_conj()
        total = conjugate[:, :1] * y[:, :1]
        for coil in range(1, y.shape[1]):
            total.addcmul_(conjugate[:, coil : coil + 1], y[:, coil : coil + 1])
        return total


@dataclass(frozen=True, eq=False, repr=False)
class CoilSets(LinearOperator):
    """S of an object that is larger than the field of view: one image for every set of maps, seen together."""

    maps: MapSets

    @override
    def __call__(self, x: Images) -> CoilImages:
        return (self.maps * x[:, :, None]).sum(dim=1)

    @override
    def adjoint(self, y: CoilImages) -> Images:
        return (self.maps.conj() * y[:, None]).sum(dim=2)


@dataclass(frozen=True, eq=False, repr=False)
class Fourier(LinearOperator):
    """F: image to k-space, unitary."""

    @override
    def __call__(self, x: CoilImages) -> KSpace:
        return fft2c(x)

    @override
    def adjoint(self, y: KSpace) -> CoilImages:
        return ifft2c(y)

    @property
    @override
    def unitary(self) -> bool:
        return True

    @override
    def __repr__(self) -> str:
        return "Fourier"


@dataclass(frozen=True, eq=False, repr=False)
class Sampling(LinearOperator):
    """M: keep what was acquired, put zero elsewhere. Its own adjoint, and a projection.

    It selects and does not multiply: neither a NaN nor the sign of a zero gets through from outside the mask.
    """

    mask: Mask

    @override
    def __call__(self, x: KSpace) -> KSpace:
        return torch.where(self.mask, x, 0)

    @override
    def adjoint(self, y: KSpace) -> KSpace:
        return self(y)

    @override
    def gram(self, x: KSpace) -> KSpace:
        return self(x)

    @property
    @override
    def partial_isometry(self) -> bool:
        return True

    @override
    def __matmul__(self, inner: LinearOperator) -> LinearOperator:
        return SampledFourier(self, inner) if isinstance(inner, Fourier) else super().__matmul__(inner)

    @override
    def __repr__(self) -> str:
        return f"Sampling({'×'.join(map(str, self.mask.shape))}, {int(self.mask.sum())} acquired)"


@dataclass(frozen=True, eq=False, repr=False)
class SampledFourier(Composed):
    """M F, whose ``F^H M F`` is a filter: cheaper than there and back, most of all if whole columns are acquired."""

    outer: Sampling

    @override
    def gram(self, x: CoilImages) -> CoilImages:
        return mask_filter(x, self.outer.mask)


@dataclass(frozen=True, eq=False, repr=False)
class Weighting(LinearOperator):
    """W: k-space times real factors, which differ from sample to sample. Its own adjoint."""

    root: Float[Tensor, "#batch 1 #y x"]

    @override
    def __call__(self, x: KSpace) -> KSpace:
        return self.root * x

    @override
    def adjoint(self, y: KSpace) -> KSpace:
        return self(y)


def encoding(mask: Tensor, maps: Tensor | None = None) -> LinearOperator:
    """Build ``M F S``, or ``M F`` (every coil on its own) when there are no sensitivity maps.

    Args:
        mask: What was acquired, boolean or 0/1, as (x,), (y, x) or (batch or 1, 1, y or 1, x); centred like k-space.
        maps: Complex sensitivities (batch or 1, coils, y, x), or several sets of them (batch or 1, sets, coils, y, x).

    Returns:
        A linear operator from images ``(batch, 1, y, x)``, without maps ``(batch, coils, y, x)``, to k-space ``(batch,
        coils, y, x)``; ``A.H`` is its adjoint. The Fourier transform is centred and orthonormal, so both sides have
        the same units.

    Raises:
        InputError: a mask that is empty or not 0/1, maps that are not complex or not finite, or sizes that disagree.

    Examples:
        >>> import somamba, torch
        >>> A = somamba.encoding(torch.tensor([1, 0, 1, 1, 0, 1]))
        >>> y = A(torch.ones(1, 1, 4, 6, dtype=torch.complex64))
        >>> tuple(y.shape), int((y.abs() > 1e-6).sum())  # a constant image is one sample
        ((1, 1, 4, 6), 1)
    """
    mask = _sampled(mask)
    sampled = Sampling(mask) @ Fourier()
    if maps is None:
        return sampled
    _check_maps(maps, mask)
    return sampled @ (Coils(maps) if maps.ndim == 4 else CoilSets(maps))


def coil_maps(A: LinearOperator) -> CoilImages | MapSets | None:
    """The maps in an operator, one set or several; None if it treats every coil on its own."""
    return next((factor.maps for factor in A.factors if isinstance(factor, Coils | CoilSets)), None)


def check_measurement(y: Tensor, A: LinearOperator) -> None:
    """Refuse k-space that ``A`` cannot have measured; models call this before they reconstruct.

    On a device that runs ahead of the host, values are not looked at, which would wait for it: from samples that are
    not finite comes an image that is not, and its user refuses that.

    Raises:
        InputError: not complex (batch, coils, y, x), not finite, or at odds with the mask or the coil maps in ``A``.
    """
    if y.ndim != 4:
        raise InputError(
            f"Measurements must be (batch, coils, y, x), got {_size(y)}. "
            "Single-coil slices (batch, y, x) get their coil axis with y[:, None]."
        )
    check_precision(y, "measurements")
    if not runs_ahead(y.device) and not bool(torch.isfinite(y).all()):
        raise InputError(f"Measurements must be finite. {_count_non_finite(y)} Replace or leave out these samples.")
    for factor in A.factors:
        if isinstance(factor, Sampling):
            _check_fits(factor.mask, "mask", y, "measurements")
        if isinstance(factor, Coils | CoilSets):
            maps = factor.maps if isinstance(factor, Coils) else factor.maps[:, 0]
            _check_fits(maps, "coil maps", y, "measurements")
            if y.shape[1] != maps.shape[1]:
                raise InputError(
                    f"The operator has maps of {maps.shape[1]} coils, the measurements have {y.shape[1]}. "
                    "Estimate the maps from the same scan, or leave them out to treat each coil on its own."
                )


def _sampled(mask: Tensor) -> Tensor:
    """The mask as a boolean tensor (batch, 1, y, x), its first three axes possibly 1."""
    if mask.is_complex():
        raise InputError(f"A mask must be boolean or 0/1, got {mask.dtype}. Try mask.real or mask != 0.")
    if mask.dtype != torch.bool:
        if not bool(((mask == 0) | (mask == 1)).all()):
            raise InputError("A mask must hold only 0 and 1. To mark every non-zero entry as acquired, pass mask != 0.")
        mask = mask == 1
    if mask.ndim not in (1, 2, 4) or (mask.ndim == 4 and mask.shape[1] != 1):
        raise InputError(
            f"A mask must be (x,), (y, x) or (batch, 1, y, x), got {_size(mask)}. "
            "The same lines are acquired by every coil, so the coil axis is 1."
        )
    mask = mask[(None,) * (4 - mask.ndim)]
    empty = (~mask.flatten(start_dim=1).any(dim=1)).nonzero().flatten().tolist()
    if empty or mask.numel() == 0:
        where = f" for slice {empty[0]} of the batch" if mask.shape[0] > 1 else ""
        raise InputError(f"Empty mask: nothing is acquired{where}. At least one sample must be marked True.")
    return mask


def _check_maps(maps: Tensor, mask: Tensor) -> None:
    if maps.ndim not in (4, 5):
        raise InputError(
            f"Coil maps must be (batch or 1, coils, y, x), got {_size(maps)}. Add the batch axis: maps[None]."
        )
    check_precision(maps, "coil maps")
    if not bool(torch.isfinite(maps).all()):
        raise InputError(f"Coil maps must be finite. {_count_non_finite(maps)} Set the background of the maps to zero.")
    one_for_all = maps.shape[0] == 1
    one_set = maps if maps.ndim == 4 else maps[:, 0]
    _check_fits(mask[:1] if one_for_all else mask, "mask", one_set, "coil maps")


def _check_fits(part: Tensor, name: str, whole: Tensor, whole_name: str) -> None:
    """Batch, y and x of a part of the operator must be those of the whole; batch may be 1, and y of a line mask."""
    if part.device != whole.device:
        raise InputError(
            f"The {name} and the {whole_name} lie on different devices, {part.device} and {whole.device}. "
            "Move an operator with A.to(device)."
        )
    batch, _, y, x = whole.shape
    rows = (1, y) if part.dtype == torch.bool else (y,)
    if not (part.shape[0] in (1, batch) and part.shape[2] in rows and part.shape[3] == x):
        raise InputError(
            f"The {name} {_size(part)} and the {whole_name} {_size(whole)} disagree in batch, y or x. "
            "Take both from the same scan and crop both alike."
        )


def _count_non_finite(values: Tensor) -> str:
    bad = (~torch.isfinite(values)).nonzero()
    return f"{len(bad)} of {values.numel()} samples are NaN or infinite, the first at {tuple(bad[0].tolist())}."


def _size(values: Tensor) -> str:
    return f"({', '.join(map(str, values.shape))})"
