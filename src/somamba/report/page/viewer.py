"""The slice viewer as a part of a page: arrays in, markup out. The other half runs in the browser: script/viewer.js."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from somamba.errors import InputError
from somamba.report.names import visible
from somamba.report.page.document import data_block, part
from somamba.report.page.markup import Html
from somamba.report.page.pixels import FLOOR, Numbers, magnitude_text, spectrum, spectrum_text

WHITE_PERCENTILE = 99.7
"""Percentile of the pixels that is shown white when a case is opened; the brightest few would leave the rest dark."""


@dataclass(frozen=True, kw_only=True)
class ViewerImage:
    """The images that one method made of a case."""

    label: str
    pixels: Numbers
    """(slices, y, x), real or complex."""
    psnr: Sequence[float] = ()
    """One value for each slice; empty if it was not measured."""
    ssim: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class ViewerCase:
    """Slices of one case by several methods, which the viewer flips between in this order."""

    name: str
    images: Sequence[ViewerImage]
    reference: Numbers | None = None
    """(slices, y, x): the images that the methods should have found; without them there is no mode for errors."""
    slices: Sequence[int] = ()
    """Numbers of the slices in the case; 0, 1, 2 ... if empty."""

    def __post_init__(self) -> None:
        stacks = {image.label: image.pixels for image in self.images}
        stacks |= {} if self.reference is None else {"the reference": self.reference}
        if not stacks:
            raise InputError(f"Case {self.name!r} has no image; give at least one, or a reference.")
        shape = next(iter(stacks.values())).shape
        for label, pixels in stacks.items():
            if pixels.ndim != 3 or pixels.shape != shape or not pixels.size:
                raise InputError(
                    f"Case {self.name!r}: images are (slices, y, x) and all alike; {label} has {pixels.shape}, "
                    f"the first {shape}. One slice alone is image[None]."
                )
            if not np.isfinite(pixels).all():
                raise InputError(f"Case {self.name!r}: {label} has values that are not finite; nothing can show them.")
        for image in self.images:
            for name in ("psnr", "ssim"):
                if len(getattr(image, name)) not in (0, shape[0]):
                    raise InputError(
                        f"Case {self.name!r}, {image.label}: {name} has {len(getattr(image, name))} values for "
                        f"{shape[0]} slices."
                    )


def viewer(cases: Sequence[ViewerCase]) -> Html:
    """The viewer with everything it shows, for one place in a page made by `somamba.report.page.document.document`.

    Magnitudes have 16 bits between 0 and the largest value of their case; spectra 8 bits between -80 and 0 dB.
    """
    if not cases:
        raise InputError("There is no case to show; give at least one.")
    return Html(
        part("viewer.html") + data_block("viewer-data", {"floor": FLOOR, "cases": [_case(case) for case in cases]})
    )


def _case(case: ViewerCase) -> dict[str, Any]:
    images = list(case.images)
    if case.reference is not None:
        images.insert(0, ViewerImage(label="Reference", pixels=case.reference))
    first = images[0].pixels
    peak = float(max(np.abs(image.pixels).max() for image in images)) or 1.0
    spectra = [spectrum(image.pixels) for image in images]
    loudest = float(max(one.max() for one in spectra)) or 1.0
    return {
        "name": visible(case.name),
        "slices": list(map(int, case.slices)) or list(range(len(first))),
        "height": first.shape[1],
        "width": first.shape[2],
        "peak": peak,
        "white": float(np.percentile(np.abs(first), WHITE_PERCENTILE)) or peak,
        "reference": case.reference is not None,
        "images": [_image(image, peak, one, loudest) for image, one in zip(images, spectra, strict=True)],
    }


def _image(image: ViewerImage, peak: float, magnitudes: Numbers, loudest: float) -> dict[str, Any]:
    scores = {
        name: [round(float(value), 4) if np.isfinite(value) else None for value in getattr(image, name)]
        for name in ("psnr", "ssim")
    }
    return {
        "label": visible(image.label),
        "magnitude": magnitude_text(image.pixels, peak),
        "spectrum": spectrum_text(magnitudes, loudest),
    } | {name: values for name, values in scores.items() if values}
