"""Kept slices as cases of the viewer."""

from collections.abc import Sequence

import numpy as np

from somamba.evaluation.gallery_files import KeptCase
from somamba.report.names import METHODS, dataset_name, method_name, method_place
from somamba.report.pixels import Numbers
from somamba.report.viewer import ViewerCase, ViewerImage


def viewer_case(kept: KeptCase, *, most_slices: int) -> ViewerCase:
    """One kept case: reference, zero-filled images, then the methods in the paper's order.

    Args:
        kept: From `somamba.evaluation.gallery_files.read_gallery`.
        most_slices: Of a longer stack so many are taken, evenly spread.
    """
    facts, measurement = kept.facts, kept.measurement()
    chosen = spread_slices(len(measurement.slices), most_slices)
    top = 1.0 if facts.protocol == "magnitude" else np.inf  # as they were scored
    images = []
    if not any(method.facts.model == "zero_filled" for method in kept.methods):
        scores = facts.zero_filled_psnr, facts.zero_filled_ssim
        images.append(_image(METHODS["zero_filled"], _cut(measurement.zero_filled, top), *scores, chosen))
    for method in sorted(kept.methods, key=lambda method: (method_place(method.facts.model), method.facts.label)):
        about = method.facts
        label = method_name(about.label)
        images.append(_image(label, _cut(method.reconstruction(), top), about.psnr, about.ssim, chosen))
    dataset = dataset_name(facts.dataset)
    return ViewerCase(
        name=f"{facts.case}, {dataset} ×{facts.acceleration:g}",
        reference=measurement.target[chosen],
        images=images,
        slices=[int(number) for number in measurement.slices[chosen]],
    )


def spread_slices(count: int, most: int) -> list[int]:
    """At most so many of ``count`` places, evenly spread, in their order."""
    return [int(place) for place in np.linspace(0, count - 1, min(count, most)).round()]


def _cut(pixels: Numbers, top: float) -> Numbers:
    """Magnitudes above ``top`` are scaled down to it; the phase stays, for the spectra."""
    return pixels / np.maximum(1.0, np.abs(pixels) / top)


def _image(label: str, pixels: Numbers, psnr: Sequence[float], ssim: Sequence[float], chosen: list[int]) -> ViewerImage:
    return ViewerImage(
        label=label, pixels=pixels[chosen], psnr=[psnr[i] for i in chosen], ssim=[ssim[i] for i in chosen]
    )
