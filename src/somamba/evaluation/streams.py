"""The carrier L and the evidence G of every unit on one slice: pictures, and how their power falls with frequency."""

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.typing import NDArray
from torch import Tensor

from somamba.data.slices import SliceDataset
from somamba.errors import InputError
from somamba.evaluation.evaluate import magnitude, reconstruct
from somamba.evaluation.leakage import squared_radius
from somamba.evaluation.sampling import over_slices, sampled
from somamba.evaluation.spec import subject
from somamba.evaluation.trace import record_streams
from somamba.inference.weights.trained import Trained
from somamba.models.so_mamba.router import Streams
from somamba.physics.fourier import power_spectrum
from somamba.results.setting import Setting
from somamba.results.streams import RecordedStreams, StreamFacts
from somamba.shapes import Grid


class _Seen:
    """One stream, unit after unit."""

    def __init__(self) -> None:
        self.pictures: list[Tensor] = []
        self.powers: list[Tensor] = []

    def add(self, grid: Grid) -> None:
        self.pictures.append(picture(grid).cpu())
        self.powers.append(radial_power(grid, min(grid.shape[1:3]) // 2).cpu())

    def arrays(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | tuple[None, None]:
        """Pictures and spectra; None if no unit has this stream."""
        if not self.pictures:
            return None, None
        return torch.stack(self.pictures).float().numpy(), torch.stack(self.powers).float().numpy()


def radial_power(grid: Grid, rings: int) -> Float64[Tensor, " rings"]:
    """Mean power of a channel in rings of equal width, from the centre of the transform grid to its corner."""
    power = power_spectrum(grid).sum(dim=0) / (grid.shape[0] * grid.shape[3])
    rho = squared_radius((power.shape[0], power.shape[1])).sqrt().to(power.device)
    ring = (rho * rings).long().clamp(max=rings - 1).flatten()
    sums, counts = (
        torch.zeros(rings, dtype=torch.float64, device=power.device).index_add_(0, ring, values)
        for values in (power.flatten(), torch.ones_like(power).flatten())
    )
    return sums / counts.clamp(min=1)


def picture(grid: Grid) -> Float[Tensor, "rows columns"]:
    """Root mean square over channels, each without its mean, which says nothing about the slice."""
    varying = grid[0] - grid[0].mean(dim=(0, 1))
    return varying.square().mean(dim=-1).sqrt()


def record(trained: Trained, dataset: SliceDataset, index: int, *, setting: Setting, command: str) -> RecordedStreams:
    """Reconstruct one slice, on the device of the model, and record both streams of every unit.

    Args:
        trained: SO-Mamba or one of its variants.
        dataset: Slices of the split.
        index: Number of the slice in the dataset.
        setting: What the record says about the data.
        command: The command that records it again.

    Raises:
        InputError: the network has no SO-Mamba unit.
    """
    carrier, evidence = _Seen(), _Seen()

    def keep(streams: Streams) -> None:
        carrier.add(streams.carrier)
        if streams.evidence is not None:
            evidence.add(streams.evidence)

    batch = dataset.batch([index])
    device = next((parameter.device for parameter in trained.model.parameters()), "cpu")
    with record_streams(trained.model, keep):
        images = reconstruct(trained.model, batch.to(device))
    (carriers, carrier_power), (evidences, evidence_power) = carrier.arrays(), evidence.arrays()
    if carriers is None or carrier_power is None:
        raise InputError("No unit of the network ran, so there is nothing to record.")
    rings = carrier_power.shape[1]
    return RecordedStreams(
        facts=StreamFacts(
            subject=subject(trained),
            setting=setting,
            sampled=over_slices(torch.tensor([sampled(batch.mask[0, 0])])),
            case=batch.case_ids[0],
            slice=batch.slices[0],
            command=command,
        ),
        target=batch.target[0, 0].numpy(),
        reconstruction=magnitude(images, protocol=dataset.config.protocol)[0, 0].numpy(),
        radius=((np.arange(rings) + 0.5) / rings).astype(np.float32),
        carrier=carriers,
        evidence=evidences,
        carrier_power=carrier_power,
        evidence_power=evidence_power,
    )
