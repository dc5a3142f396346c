"""From a raw scan to what a network sees of each slice, in stages that follow each other in this order.

    whiten    coils are mixed so that their noise is independent and alike        the whole scan
    unit      samples far from 1 are divided by a power of two                    slice by slice, as all that follow
    sample    which samples are used, and which count as zero
    compress  many coils become few virtual ones
    maps      coil maps that were given, or ESPIRiT's
    scale     brightness 1 and the usual phase, as in training                    `somamba.inference.recovery`

A stage for the whole scan takes a `RawScan` and returns one (`whitened` is the example); a stage for a slice is a step
of `Preparation.slice`. After the network the scale and the unit are taken back, in the opposite order.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Complex
from torch import Tensor

from somamba.errors import ConfigError, InputError
from somamba.inference.recovery import MeasuredSlice, PreparedSlice
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import Trained
from somamba.physics.coils.compression import MOST_COILS, compress, compression_matrix
from somamba.physics.coils.estimated import FEWEST, Estimated, estimated_maps
from somamba.physics.sampling_mask import SamplingMask
from somamba.raw.noise import whitened
from somamba.raw.raw_scan import RawScan
from somamba.raw.sampling import SliceSampling, find_sampling

MAGNITUDE_ONLY = (
    "these weights were trained for protocol 'magnitude': on real, positive images, each scaled to [0, 1] by its own "
    "minimum and maximum, single-coil, without noise, under one fixed mask. A measurement is complex and noisy, so the "
    "result could look right and be wrong. Use weights trained for protocol 'raw', or --force (force=True)."
)
EDGE = 56
"""One row in so many, on each side, is the edge of k-space: 4 of 224."""
ADVICE = (
    "Give coil maps (--maps FILE, in Python maps=), or a scan with at least "
    f"{FEWEST}, better 24, neighbouring lines acquired around the centre of k-space."
)
USUAL = 2.0**40
"""Samples between this and its inverse are computed with as they are: their squares are far from single precision's
limits."""


@dataclass(frozen=True, kw_only=True)
class RecoveryOptions:
    """How slices are prepared and recovered."""

    undersampling: Undersampling | None = None
    """What to leave out of a fully sampled scan; None reconstructs what was acquired."""
    prewhiten: bool = True
    """Mix the coils so that their noise is independent and alike, if there is a noise scan and the network takes
    sensitivity maps."""
    force: bool = False
    """Let weights that were trained for magnitude images see measurements."""
    coils: int = MOST_COILS
    """More coils than this are compressed to so many, if the network takes sensitivity maps."""
    refine: bool = True
    """Let a last step of sparsity follow a network that takes sensitivity maps, see `somamba.models.refined`."""

    def __post_init__(self) -> None:
        if self.coils < 1:
            raise ConfigError(f"coils={self.coils}; at least 1 coil must remain.")


class Preparation:
    """The slices of one raw scan, prepared for one model when they are asked for."""

    def __init__(self, scan: RawScan, trained: Trained, options: RecoveryOptions | None = None) -> None:
        """Carry out the stages of the whole scan.

        Args:
            scan: What was measured.
            trained: The model that will see the slices.
            options: What to leave out, and which stages to leave out.

        Raises:
            InputError: weights for magnitude images and a measurement, or another number of coils than the network has.
        """
        self.options = options or RecoveryOptions()
        self.acquired = scan
        _check_fits(scan, trained, force=self.options.force)
        self.side_by_side = trained.coils > 1
        self.saw_whole_columns = trained.saw_whole_columns
        self.magnitudes = trained.protocol == "magnitude" and scan.simulated
        # A network that takes coils side by side knows each of them as it is.
        self.scan = whitened(scan) if self.options.prewhiten and not self.side_by_side else scan
        self.pattern = self._pattern()

    @property
    def compressed_to(self) -> int | None:
        """How many virtual coils there are; None without compression."""
        return None if self.side_by_side or self.scan.coils <= self.options.coils else self.options.coils

    def refines(self, trained: Trained) -> bool:
        """Whether the last step follows: behind a network that was trained on measurements and takes coil maps."""
        return self.options.refine and trained.protocol == "raw" and not self.side_by_side

    def slice(self, index: int) -> PreparedSlice | None:
        """One slice; None if all its samples are zero.

        Raises:
            InputError: a slice that cannot be reconstructed; the message names it and says what to do.
        """
        full = self.scan.kspace(index)
        peak = float(full.abs().max())
        if peak == 0:
            return None
        try:
            unit = 1.0 if 1 / USUAL < peak < USUAL else 2.0 ** math.floor(math.log2(peak))
            # In double precision: the inverse of a tiny unit is infinite in single precision.
            full = full if unit == 1 else (full.to(torch.complex128) / unit).to(torch.complex64)
            sampling = find_sampling(full)
            mask, acceleration = self._sampled(sampling)
            matrix, energy = self._compression(index, torch.where(mask, full, 0), sampling)
            full = full if matrix is None else compress(matrix, full)
            kspace = torch.where(mask, full, 0)
            maps, unseen = self._maps(index, kspace, unit, matrix)
            measured = MeasuredSlice(kspace=kspace, mask=mask, maps=maps)
        except InputError as error:
            raise InputError(f"{self.scan.path}, slice {index}: {error}") from None
        return PreparedSlice(
            measured=measured,
            full=full,
            sampling=sampling,
            acceleration=acceleration,
            unit=unit,
            energy=energy,
            unseen=unseen,
            magnitudes=self.magnitudes,
        )

    def notes(self, sampling: SliceSampling) -> list[str]:
        """What a person should know about how a slice of this sampling is prepared."""
        notes = sampling.notes()
        if self.saw_whole_columns and not sampling.gapless_rows and len(sampling.mask.pattern) > 1:
            rows = edge_rows(sampling.shape[0])
            notes.append(
                f"Samples are missing in both directions ({sampling.kind}); these weights were trained on whole "
                f"columns. Unknown samples of the outermost {rows} rows on each side count as zero."
            )
        return notes

    def _pattern(self) -> SamplingMask | None:
        undersampling, scan = self.options.undersampling, self.scan
        return None if undersampling is None else undersampling.pattern(scan.shape, coils=scan.coils)

    def _sampled(self, sampling: SliceSampling) -> tuple[Bool[Tensor, "#y x"], float]:
        """What is used of a slice, and the acceleration within what the scanner acquires at all."""
        mask = self._known(sampling)
        if self.pattern is None:
            return mask, sampling.acceleration
        if not sampling.complete:
            raise InputError(
                f"it is undersampled already, by {sampling.acceleration:.2f} ({sampling.kind}), so there is no truth "
                "to compare with. Leave --acceleration out to reconstruct what was acquired."
            )
        # Columns the scanner never acquired are no measurements of zero.
        used = SamplingMask(mask & self.pattern.pattern, "used", 1)
        return used.pattern, used.acceleration_over(rows=sampling.span.rows, columns=sampling.span.columns)

    def _known(self, sampling: SliceSampling) -> Bool[Tensor, "#y x"]:
        """Samples that were acquired, and those that count as zero."""
        # Rows that a readout never reaches are zero in the image that the scanner would show. A network that was
        # trained on whole columns takes them for unknown samples otherwise, and fills them with stripes.
        if sampling.gapless_rows:
            return sampling.columns
        mask = sampling.mask.pattern
        if not self.saw_whole_columns or len(mask) == 1:
            return mask
        # The outermost rows of the central columns were always acquired in its training, so it never learned to
        # leave them alone. There is hardly any signal.
        band = edge_rows(len(mask))
        edge = torch.zeros(len(mask), 1, dtype=torch.bool)
        edge[:band] = edge[len(mask) - band :] = True
        return mask | edge

    def _compression(
        self, index: int, kspace: Complex[Tensor, "coils y x"], sampling: SliceSampling
    ) -> tuple[Complex[Tensor, "virtual coils"] | None, float]:
        """The matrix that compresses the coils of a slice, and the energy that it keeps; None if they are few."""
        if self.compressed_to is None:
            return None, 1.0
        samples = kspace
        if self.scan.reference is not None:
            samples = self.scan.calibration(index)
        elif sampling.calibration is not None:
            samples = kspace[:, sampling.calibration.rows, sampling.calibration.columns]
        matrix, energy = compression_matrix(samples, self.options.coils)
        return matrix, float(energy)

    def _maps(
        self,
        index: int,
        kspace: Complex[Tensor, "virtual y x"],
        unit: float,
        matrix: Complex[Tensor, "virtual coils"] | None,
    ) -> tuple[Complex[Tensor, "*sets virtual y x"] | None, float]:
        """Maps that were given, else estimated, and the share of the energy where these see nothing.

        There are none for one coil, or for a network that keeps coils side by side.
        """
        scan = self.scan
        if scan.coils == 1 or self.side_by_side:
            return None, 0.0
        given = scan.maps(index)
        if given is not None:
            return given_maps(given if matrix is None else compress(matrix, given)), 0.0
        if scan.reference is None:
            # The samples that were left out afterwards are not used: no scanner would have them.
            return _estimated(kspace)
        reference = scan.calibration(index) / unit
        return _estimated(reference if matrix is None else compress(matrix, reference))


def edge_rows(height: int) -> int:
    """How many rows at the top and at the bottom of k-space count as its edge."""
    return max(1, height // EDGE)


def _check_fits(scan: RawScan, trained: Trained, *, force: bool) -> None:
    """Refuse a scan that a model was not made for; ``force`` lets weights for magnitude images see measurements."""
    if trained.protocol == "magnitude" and not scan.simulated and not force:
        raise InputError(f"{scan.path}: {MAGNITUDE_ONLY}")
    if trained.coils not in (1, scan.coils):
        raise InputError(
            f"{scan.path}: this network takes {trained.coils} coils side by side, the scan has {scan.coils}. Use "
            "weights trained with combine: sense, which take any number of coils."
        )


def _estimated(calibration: Complex[Tensor, "coils y x"]) -> Estimated:
    """ESPIRiT's maps; if there are none, the error says what to do."""
    try:
        return estimated_maps(calibration)
    except InputError as error:
        raise InputError(f"{error} {ADVICE}") from None


def given_maps(maps: Complex[Tensor, "coils y x"]) -> Complex[Tensor, "coils y x"]:
    """Maps that a user gave, brought to unit norm over the coils, as those that networks are trained with."""
    norm = torch.linalg.vector_norm(maps, dim=0)
    return maps / torch.where(norm > 0, norm, 1)
