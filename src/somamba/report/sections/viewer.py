"""The slices of galleries in a page, as cases of the viewer."""

from collections.abc import Sequence

import numpy as np

from somamba.report.names import METHODS, dataset_name, method_name, method_place
from somamba.report.page.markup import Html, element, joined
from somamba.report.page.pixels import Numbers
from somamba.report.page.viewer import ViewerCase, ViewerImage, viewer
from somamba.results.gallery import KeptCase

PRECISION = (
    "Magnitudes are stored with 16 bits (steps of 1/65535 of the largest value of a case) and spectra with 8 bits "
    "between −80 and 0 dB. Errors are computed from the 16-bit magnitudes."
)


def viewer_section(cases: Sequence[KeptCase], *, most_slices: int) -> Html | None:
    """The viewer with all cases; None if there are none."""
    if not cases:
        return None
    shown = [viewer_case(kept, most_slices=most_slices) for kept in cases]
    return joined([viewer(shown), element("p", PRECISION, class_="soft")])


def viewer_case(kept: KeptCase, *, most_slices: int) -> ViewerCase:
    """One kept case: reference, zero-filled images, then the methods in the paper's order.

    Args:
        kept: A case that `somamba.results.gallery.read_gallery` returned.
        most_slices: Largest number of slices; of a longer stack they are taken evenly spread.
    """
    facts, measurement = kept.facts, kept.measurement()
    chosen = spread_slices(len(measurement.slices), most_slices)
    top = 1.0 if facts.setting.protocol == "magnitude" else np.inf  # as they were scored
    images = []
    if not any(method.facts.subject.method == "zero_filled" for method in kept.methods):
        scores = facts.zero_filled_psnr, facts.zero_filled_ssim
        images.append(_image(METHODS["zero_filled"], _cut(measurement.zero_filled, top), *scores, chosen))
    for method in sorted(
        kept.methods, key=lambda method: (method_place(method.facts.subject.method), method.facts.label)
    ):
        about = method.facts
        label = method_name(about.label)
        images.append(_image(label, _cut(method.reconstruction(measurement), top), about.psnr, about.ssim, chosen))
    setting = facts.setting
    return ViewerCase(
        name=f"{facts.case}, {dataset_name(setting.dataset)} ×{setting.acceleration:g}",
        reference=measurement.target[chosen],
        images=images,
        slices=[int(number) for number in measurement.slices[chosen]],
    )


def spread_slices(count: int, most: int) -> list[int]:
    """The places of the slices to show: at most so many of ``count``, evenly spread, in their order."""
    return [int(place) for place in np.linspace(0, count - 1, min(count, most)).round()]


def _cut(pixels: Numbers, top: float) -> Numbers:
    """Magnitudes above ``top`` are scaled down to it; the phase stays, for the spectra."""
    return pixels / np.maximum(1.0, np.abs(pixels) / top)


def _image(label: str, pixels: Numbers, psnr: Sequence[float], ssim: Sequence[float], chosen: list[int]) -> ViewerImage:
    return ViewerImage(
        label=label, pixels=pixels[chosen], psnr=[psnr[i] for i in chosen], ssim=[ssim[i] for i in chosen]
    )
