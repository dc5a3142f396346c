"""How a file was understood, in words: the rows of ``somamba inspect``."""

import math

import numpy as np
from numpy.typing import NDArray

from somamba.raw.geometry import orientation
from somamba.raw.raw_scan import RawScan, slice_with_signal
from somamba.raw.sampling import SliceSampling


def describe(scan: RawScan) -> dict[str, str]:
    """The facts to check before a reconstruction; the sampling is that of one slice, usually the middle one."""
    index = slice_with_signal(scan.volume, scan.path)
    sampling = scan.sampling(index)
    height, width = scan.shape
    return {
        "format": scan.format + (", k-space simulated" if scan.simulated else ""),
        "k-space": f"{height} rows (readout) x {width} columns (phase encoding)",
        "picture": f"{scan.image_shape[0]} x {scan.image_shape[1]}" + (", turned" if scan.transposed else ""),
        "coils": str(scan.coils),
        "slices": _slices(scan),
        "sampling": sampling.kind + (f" (slice {index})" if scan.slices > 1 else ""),
        "acceleration": _acceleration(sampling),
        "calibration": _calibration(scan, sampling),
        "noise": _noise(scan, index),
        "coil maps": "given" if scan.coil_maps is not None else "to be estimated" if scan.coils > 1 else "not needed",
        "voxel": "unknown" if scan.voxel is None else " x ".join(f"{size:.4g}" for size in scan.voxel[::-1]) + " mm",
        "orientation": "unknown" if scan.affine is None else orientation(scan.affine),
    }


def _slices(scan: RawScan) -> str:
    if scan.volumes == 1:
        return str(scan.slices)
    return f"{scan.slices}: {scan.volumes} volumes of {scan.slices // scan.volumes}"


def _acceleration(sampling: SliceSampling) -> str:
    if sampling.complete:
        words = "none, fully sampled"
    else:
        lines = sampling.mask.lines
        counted = "" if lines is None else f" ({len(lines)} of {sampling.span.shape[1]} columns)"
        words = f"{sampling.acceleration:.2f}{counted}"
    rows, columns = sampling.never_acquired
    outside = [f"{count} {name}" for count, name in ((columns, "columns"), (rows, "rows")) if count]
    return words + (f"; {' and '.join(outside)} at the edge never acquired" if outside else "")


def _calibration(scan: RawScan, sampling: SliceSampling) -> str:
    if scan.reference is not None:
        return "a separate scan"
    if sampling.calibration is None:
        return "none: the centre of k-space was not acquired"
    if sampling.mask.lines is None:
        height, width = sampling.calibration.shape
        return f"{height} x {width} samples around the centre"
    return f"{sampling.calibration_lines} lines"


def _noise(scan: RawScan, index: int) -> str:
    if scan.noise is None:
        return "none, simulated" if scan.simulated else "unknown"
    words = f"{scan.noise.deviation:.2e} ({scan.noise.source})"
    peak = float(scan.kspace(index).abs().max())
    if peak > 0 and scan.noise.deviation > 0:
        words += f", {20 * math.log10(peak / scan.noise.deviation):.0f} dB below the largest sample"
    return words + ("" if scan.noise.covariance is None or scan.coils == 1 else _unlike(scan.noise.covariance))


def _unlike(covariance: NDArray[np.complex128]) -> str:
    """How much coils differ and correlate, which prewhitening will change."""
    deviations = np.sqrt(np.diag(covariance).real)
    if not deviations.min() > 0:
        return "; a coil without noise is switched off, so coils cannot be prewhitened"
    correlation = np.abs(covariance / np.outer(deviations, deviations)) - np.eye(len(covariance))
    spread = deviations.max() / deviations.min()
    return f"; coils differ by a factor of {spread:.1f} and correlate by up to {correlation.max():.2f}: prewhitened"
