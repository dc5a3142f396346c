"""The library's front door: ``somamba.load(name).reconstruct(kspace)``, for arrays that are in memory already.

An array is understood as the same array in a file would be, and takes the same path (`reconstruct`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from somamba.errors import InputError
from somamba.inference.adaptation import Adaptation, OnProgress, adapt
from somamba.inference.preparation import Preparation, RecoveryOptions
from somamba.inference.reconstruct import reconstruct
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.weights.adaptations import RECORD
from somamba.inference.weights.trained import DEFAULT, Trained, open_weights, save_trained
from somamba.notebook import html_table
from somamba.physics.coils.compression import MOST_COILS
from somamba.raw.formats.in_memory import raw_scan_of
from somamba.runtime.device import find_device

Array: TypeAlias = NDArray[Any] | Tensor


class ReconstructedArray(np.ndarray[Any, np.dtype[np.complex64]]):
    """A NumPy array of complex images that says how it came about."""

    reconstruction: Reconstruction | None = None
    """The whole result: its ``notes`` say how the k-space was understood, `somamba.inference.writers.writing.write`
    stores it. It is None for arrays that were computed from this one."""

    def _repr_png_(self) -> bytes | None:
        """The picture of the images, as a notebook shows it; arrays that were computed from this one have none."""
        return None if self.reconstruction is None else self.reconstruction._repr_png_()


class Pretrained:
    """A model with its weights, ready to reconstruct."""

    def __init__(self, trained: Trained, device: str = "auto") -> None:
        self.trained = trained
        self.device = find_device(device)
        record = trained.config.get(RECORD)
        self.adaptation: dict[str, Any] | None = None if record is None else dict(record)
        """How the network was adapted to a scan, now or before it was saved; None if it was not."""
        trained.model.to(self.device)

    def __repr__(self) -> str:
        weights = f", weights {self.trained.weights}" if self.trained.weights else ""
        return f"Pretrained({self.trained.name}{weights}, on {self.device})"

    def _repr_html_(self) -> str:
        """The card of the weights in a few rows, as a notebook shows it."""
        trained = self.trained
        rows = {
            "model": trained.name,
            "weights": f"{trained.source} ({trained.weights})" if trained.weights else "none",
            "parameters": f"{trained.parameters:,}",
            "trained for": trained.protocol or "nothing: it has no weights",
            "epochs": f"{trained.epochs:.1f}",
            "device": str(self.device),
        }
        return html_table(rows)

    @overload
    def reconstruct(
        self,
        kspace: Tensor,
        maps: Array | None = ...,
        mask: Array | None = ...,
        *,
        noise: Array | None = ...,
        axes: Sequence[str] | None = ...,
        centred: bool | None = ...,
        force: bool = ...,
        coils: int = ...,
        refine: bool = ...,
    ) -> Tensor: ...

    @overload
    def reconstruct(
        self,
        kspace: NDArray[Any],
        maps: Array | None = ...,
        mask: Array | None = ...,
        *,
        noise: Array | None = ...,
        axes: Sequence[str] | None = ...,
        centred: bool | None = ...,
        force: bool = ...,
        coils: int = ...,
        refine: bool = ...,
    ) -> ReconstructedArray: ...

    def reconstruct(
        self,
        kspace: Any,
        maps: Any = None,
        mask: Any = None,
        *,
        noise: Any = None,
        axes: Any = None,
        centred: Any = None,
        force: bool = False,
        coils: int = MOST_COILS,
        refine: bool = True,
    ) -> Any:
        """Reconstruct one slice or several.

        Args:
            kspace: Complex, NumPy or torch, with two to four of the axes slices, coils, y and x; zero where nothing was
                acquired. Which axis is which, where the zero frequency is, and along which axis lines were left out
                is found, as by ``somamba inspect``.
            maps: Coil maps in the order of the k-space's axes, (coils, y, x) or (slices, coils, y, x). None estimates
                them (ESPIRiT) from the fully acquired centre of k-space, if there are several coils.
            mask: 1 where a sample was acquired, (x,) or (y, x). None finds it from where k-space is zero.
            noise: Samples of a noise scan, (coils, samples), to prewhiten the coils by.
            axes: The axes of ``kspace`` in their order, such as ("y", "x", "coils"). None finds them.
            centred: True: zero frequency and object are in the middle, as after ``fftshift(fft2(ifftshift(image)))``.
                False: the zero frequency is the first sample, as ``fft2(image)`` has it. None finds it.
            force: Let weights that were trained for magnitude images see measurements.
            coils: More coils than this are compressed to so many.
            refine: Let a last step of sparsity follow the network, as far as samples that were held out confirm it.

        Returns:
            Complex images (y, x), or (slices, y, x) if there are slices, of the kind that came in (`ReconstructedArray`
            for NumPy), in the units of k-space under the orthonormal transform. Of several slices, one without signal
            is zero. Its attribute ``reconstruction`` says how the k-space was understood.

        Raises:
            InputError: arrays that do not fit, too few lines to estimate coil maps from; it says what to do.
            ConfigError: axes that are not understood.

        Examples:
            >>> import numpy as np, somamba
            >>> image = np.zeros((32, 24), dtype=np.complex64)
            >>> image[8:20, 6:18] = 1
            >>> kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(image), norm="ortho"))
            >>> made = somamba.load("zero_filled").reconstruct(kspace)
            >>> made.shape, bool(np.allclose(made, image, atol=1e-5))
            ((32, 24), True)
        """
        if noise is not None and self.trained.coils > 1:
            raise InputError("This network knows each coil as it is, so they cannot be prewhitened. Leave noise out.")
        scan = raw_scan_of(kspace, maps=maps, mask=mask, noise=noise, axes=axes, centred=centred)
        made = reconstruct(
            scan, self.trained, RecoveryOptions(force=force, coils=coils, refine=refine), device=self.device
        )
        return _like(kspace, made, stacked=scan.stacked)

    def adapt(
        self,
        kspace: Any,
        maps: Any = None,
        mask: Any = None,
        *,
        noise: Any = None,
        axes: Sequence[str] | None = None,
        centred: bool | None = None,
        coils: int = MOST_COILS,
        settings: Adaptation | None = None,
        on_progress: OnProgress = lambda _progress: None,
    ) -> "Pretrained":
        """Adapt a copy of the network to a scan, by the scan's own samples; see `somamba.inference.adaptation`.

        Args:
            kspace: The scan, as for `reconstruct`, and so are all that follow.
            maps: Coil maps.
            mask: 1 where a sample was acquired.
            noise: Samples of a noise scan.
            axes: The axes of ``kspace``.
            centred: Where the zero frequency is.
            coils: More coils than this are compressed to so many.
            settings: Steps, seed and the rest; by default it stops by itself.
            on_progress: Called with the held-out residual and the time that is left.

        Returns:
            Another model. Its ``adaptation`` says what was done; if the held-out samples got no better, it has the
            weights of this one.

        Raises:
            InputError: a model without weights, or arrays that do not fit.

        Examples:
            >>> import numpy as np, somamba
            >>> from somamba.inference.adaptation import Adaptation
            >>> image = np.zeros((32, 24))
            >>> image[8:20, 6:18] = 1
            >>> kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(image))).astype("complex64")
            >>> kspace[:, :6:2] = 0  # three lines were not acquired
            >>> model = somamba.load("brain_raw", device="cpu").adapt(kspace, settings=Adaptation(steps=1))
            >>> model.adaptation["steps"], model.reconstruct(kspace).shape
            (1, (32, 24))
        """
        scan = raw_scan_of(kspace, maps=maps, mask=mask, noise=noise, axes=axes, centred=centred)
        preparation = Preparation(scan, self.trained, RecoveryOptions(coils=coils))
        adapted = adapt(preparation, self.trained, settings, device=self.device, on_progress=on_progress)
        another = Pretrained(adapted.trained, str(self.device))
        another.adaptation = dict(adapted.record)
        return another

    def save(self, folder: Path | str) -> None:
        """Write the model as a checkpoint that `load` opens by its folder."""
        save_trained(Path(folder), self.trained)


def load(source: str = DEFAULT, *, device: str = "auto") -> Pretrained:
    """Load a model.

    Args:
        source: The name of weights that come with somamba, the folder of a checkpoint, the address of weights on a hub
            (``hf:owner/name@revision``, fetched by HTTPS and checked), or a model without weights (``zero_filled``).
        device: ``cpu``, ``cuda``, or ``auto`` for a GPU if there is one.

    Returns:
        The model with its weights; its ``reconstruct`` takes arrays, and a notebook shows its card.

    Raises:
        SomambaError: there is no such model, or its files are not those that were written.

    Examples:
        >>> import somamba
        >>> model = somamba.load("brain_raw", device="cpu")
        >>> model.trained.name, model.trained.protocol
        ('so_mamba', 'raw')
    """
    return Pretrained(open_weights(str(source)), device)


def _like(kspace: object, made: Reconstruction, *, stacked: bool) -> Tensor | ReconstructedArray:
    """Images of the kind that came in, with the reconstruction as an attribute."""
    images = made.images if stacked else made.images[0]
    result: Any
    if isinstance(kspace, Tensor):
        result = torch.from_numpy(images).to(kspace.device)
    else:
        result = images.view(ReconstructedArray)
    result.reconstruction = made
    return cast(Tensor | ReconstructedArray, result)
