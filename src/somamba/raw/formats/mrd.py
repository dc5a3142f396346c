"""ISMRMRD (MRD version 1) files: readouts put in their places, slice by slice, oversampling trimmed.

In pictures of this format the readout runs along the columns; here it is the rows of k-space, as everywhere in somamba.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from somamba.errors import DataError
from somamba.files.limits import READ_BYTES
from somamba.files.reading import FileInfo, Volume
from somamba.physics.fourier import crop_kspace, ifft2c
from somamba.raw.formats import mrd_lines as heads
from somamba.raw.formats.mrd_header import Header, read_header
from somamba.raw.formats.mrd_lines import FRAME, Lines
from somamba.raw.geometry import TOLERANCE, stack_affine
from somamba.raw.noise import noise_of_edges, noise_of_scan
from somamba.raw.raw_scan import Noise, RawScan, slice_with_signal
from somamba.raw.sampling import find_sampling
from somamba.raw.stack import SAME_PLACE, SliceOrder, slice_order

SEPARATE = ("separate", "external")
"""Calibration modes whose lines are a scan of their own, with another contrast perhaps."""
NOISE_LINES = 256
"""Noise acquisitions that are used: some ten thousand samples are plenty."""
OUTSIDE = 0.05
"""Share of the signal beyond the trimmed rows above which trimming would cut off a part of the object."""
SQUARE = 0.05
"""How far the sides of a pixel may differ."""
DIRECTIONS = ("read_dir", "phase_dir", "slice_dir")

Frames = Mapping[tuple[int, ...], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class ReadoutGrid:
    """The places of a line's samples in k-space."""

    lines: Lines
    shape: tuple[int, int]
    """Samples of a whole readout, and phase encoding steps."""
    rows: int
    """What an oversampled readout is trimmed to."""
    shift: int
    """The column of every phase encoding step, by its number."""

    def assemble(self, numbers: NDArray[np.int64]) -> NDArray[np.complex64]:
        """K-space (coils, y, x) of one picture; lines acquired several times are averaged."""
        return crop_kspace(self.untrimmed(numbers), (self.rows, None))

    def untrimmed(self, numbers: NDArray[np.int64]) -> NDArray[np.complex64]:
        """Return k-space (coils, y, x) of one picture with the whole readout."""
        coils = int(self.lines.column("active_channels")[numbers[0]])
        kspace = np.zeros((coils, *self.shape), dtype=np.complex64)
        times = np.zeros(self.shape[1], dtype=np.float32)
        columns = self.lines.column("kspace_encode_step_1").astype(np.int64)[numbers] + self.shift
        if columns.min() < 0 or columns.max() >= self.shape[1]:
            raise DataError(
                f"{self.lines.path}: phase encoding steps reach columns {columns.min()} to {columns.max()} of "
                f"{self.shape[1]}: the header's encodedSpace or encodingLimits do not belong to these lines."
            )
        for number, column, readout in zip(numbers.tolist(), columns, self.lines.read(numbers), strict=True):
            first, used = self._placed(number, readout)
            kspace[:, first : first + used.shape[1], column] += used
            times[column] += 1
        kspace /= np.maximum(times, 1)
        return kspace

    def volume(self, pictures: Sequence[NDArray[np.int64] | None], coils: int) -> Volume:
        """The pictures of these lines, assembled when they are read; zero for None."""
        shape = (coils, self.rows, self.shape[1])

        def read(start: int, stop: int) -> NDArray[np.complex64]:
            return np.stack(
                [np.zeros(shape, np.complex64) if one is None else self.assemble(one) for one in pictures[start:stop]]
            )

        return Volume(shape=(len(pictures), *shape), read=read)

    def _placed(self, number: int, readout: NDArray[np.complex64]) -> tuple[int, NDArray[np.complex64]]:
        """The first row of a readout, and its samples without those that are to be dropped."""
        before, after, center = (
            int(self.lines.column(name)[number]) for name in ("discard_pre", "discard_post", "center_sample")
        )
        used = readout[:, before : readout.shape[1] - after]
        first = self.shape[0] // 2 - (center - before)
        if used.shape[1] == 0 or first < 0 or first + used.shape[1] > self.shape[0]:
            raise DataError(
                f"{self.lines.path}: acquisition {number} has {readout.shape[1]} samples, their centre at {center}: "
                f"that does not fit into a readout of {self.shape[0]} (encodedSpace of the header)."
            )
        return first, used


def open_mrd(contents: FileInfo, group: str) -> RawScan:
    """Open a file whose table of contents was read."""
    path = contents.path
    header = read_header(contents.texts[f"{group}/xml"], path)
    if header.trajectory not in ("cartesian", ""):
        raise DataError(f"{path}: its trajectory is {header.trajectory!r}; only Cartesian k-space is read.")
    lines = heads.read_lines(path, group, contents.arrays[f"{group}/head"].shape[0])
    separate = header.calibration in SEPARATE
    imaging, calibration = heads.imaging_lines(lines, separate_calibration=separate)
    frames = heads.frames(lines, imaging)
    grid, notes = _grid(header, lines, frames)
    volumes = _volumes(frames)
    order = _order(lines, list(frames.values()), volumes)
    placed = _placed(frames, volumes, order)
    coils = int(lines.column("active_channels")[imaging[0]])
    volume = grid.volume([None if key is None else frames[key] for key in placed], coils)
    sample = torch.from_numpy(volume.slice(slice_with_signal(volume, path)))
    # If the header is wrong about oversampling, its readout is shorter than it says.
    readout = min(header.encoded.view[0], header.wanted.view[0]) / grid.rows
    voxel = (header.wanted.spacing(2), header.encoded.spacing(1), readout)
    image_shape = (header.trimmed(1), grid.rows)
    return RawScan(
        path=path,
        format="ISMRMRD (MRD version 1)",
        volume=volume,
        image_shape=image_shape,
        volumes=volumes,
        voxel=voxel,
        affine=_affine(lines, int(imaging[0]), order, voxel, image_shape),
        noise=_noise(lines, header, imaging) or noise_of_edges(sample, find_sampling(sample)),
        reference=_reference(grid, placed, heads.frames(lines, calibration), coils) if calibration.size else None,
        transposed=True,
        notes=(*notes, *order.notes(), *_notes(lines, frames, calibration)),
    )


def _grid(header: Header, lines: Lines, frames: Frames) -> tuple[ReadoutGrid, list[str]]:
    """The places of lines, and how far the readout is trimmed."""
    height, width = header.encoded.matrix[0], header.encoded.matrix[1]
    coils = int(lines.column("active_channels")[next(iter(frames.values()))[0]])
    if 8 * coils * height * width > READ_BYTES:
        raise DataError(
            f"{lines.path}: it declares slices of {coils} coils x {height} x {width}, more than "
            f"{READ_BYTES >> 20} MiB each. Its header's encodedSpace or its acquisitions are damaged."
        )
    shift = 0 if header.center is None else width // 2 - header.center
    grid = ReadoutGrid(lines, (height, width), height, shift)
    rows = header.trimmed(0)
    if rows == height:
        return grid, []
    if _fills_readout(header, grid, frames):
        return grid, [
            f"The header says that the readout is oversampled ({height} samples for {rows} rows), but the object fills "
            "all of it and pixels would not be square: it was not trimmed."
        ]
    note = f"The oversampled readout was trimmed from {height} to {rows} samples."
    return ReadoutGrid(lines, (height, width), rows, shift), [note]


def _fills_readout(header: Header, grid: ReadoutGrid, frames: Frames) -> bool:
    """Whether the header is wrong about oversampling: square pixels only without it, and signal all over."""
    spacing = header.encoded.spacing(0), header.encoded.spacing(1)
    without = header.wanted.view[0] / grid.shape[0]
    if abs(spacing[0] / spacing[1] - 1) < SQUARE or not abs(without / spacing[1] - 1) < SQUARE:
        return False
    numbers = list(frames.values())
    image = ifft2c(torch.from_numpy(grid.untrimmed(numbers[len(numbers) // 2])))
    energy = image.abs().square().sum(dim=(0, 2))
    signal = (energy - energy.quantile(0.1)).clamp(min=0)
    rows = header.trimmed(0)
    first = grid.shape[0] // 2 - rows // 2
    return bool(1 - signal[first : first + rows].sum() / signal.sum() > OUTSIDE)


def _volumes(frames: Frames) -> int:
    """The number of times the stack was scanned, if every repetition has every slice; else 1."""
    slices = {key[-1] for key in frames}
    repeats = {key[:-1] for key in frames}
    return len(repeats) if len(slices) * len(repeats) == len(frames) else 1


def _noise(lines: Lines, header: Header, imaging: NDArray[np.int64]) -> Noise | None:
    """The noise of the noise scan, brought to the bandwidth of the picture."""
    numbers = np.flatnonzero(lines.flagged(heads.NOISE))[:NOISE_LINES]
    coils = lines.column("active_channels")
    numbers = numbers[coils[numbers] == coils[imaging[0]]]
    if numbers.size == 0:
        return None
    dwell = lines.column("sample_time_us")
    known = dwell[numbers[0]] > 0 and dwell[imaging[0]] > 0
    factor = dwell[numbers[0]] / (dwell[imaging[0]] * header.noise_bandwidth) if known else 1.0
    return noise_of_scan(np.concatenate(lines.read(numbers), axis=1), float(factor))


def _order(lines: Lines, pictures: Sequence[NDArray[np.int64]], volumes: int) -> SliceOrder:
    """The slices of a volume, sorted by their positions in the first one."""
    firsts = [int(numbers[0]) for numbers in pictures]
    directions = np.stack([[lines.vector(name, first) for name in DIRECTIONS] for first in firsts])
    positions = np.stack([lines.vector("position", first) for first in firsts]).reshape(volumes, -1, 3)
    if not np.allclose(directions, directions[0], atol=TOLERANCE):
        return SliceOrder(tuple(range(positions.shape[1])), positions[0], "Slices have different directions")
    order = slice_order(positions[0], directions[0, 2])
    if not np.allclose(positions, positions[0], atol=SAME_PLACE):
        return order._replace(doubt="Slices lie elsewhere in each volume")
    return order


def _placed(frames: Frames, volumes: int, order: SliceOrder) -> list[tuple[int, ...] | None]:
    """The key of every picture, slices in their order, one volume after the other; None for a slice that is missing."""
    keys, stack = list(frames), len(frames) // volumes
    return [
        None if number is None else keys[volume * stack + number]
        for volume in range(volumes)
        for number in order.slices
    ]


def _affine(
    lines: Lines, first: int, order: SliceOrder, voxel: tuple[float, float, float], image_shape: tuple[int, int]
) -> NDArray[np.float64] | None:
    """The affine of the stack, if its place is known; ``first`` is a line of it, which tells the directions."""
    if order.doubt:
        return None
    directions = np.stack([lines.vector(name, first) for name in DIRECTIONS])
    return stack_affine(directions, order.positions, voxel, image_shape)


def _reference(
    grid: ReadoutGrid, placed: Sequence[tuple[int, ...] | None], calibration: Frames, coils: int
) -> Volume | None:
    """The calibration scan of every picture: its own, or the first one of its slice; None if a picture has none."""
    by_slice = {key[-1]: numbers for key, numbers in reversed(list(calibration.items()))}
    chosen = [None if key is None else calibration.get(key, by_slice.get(key[-1])) for key in placed]
    if any(numbers is None and key is not None for key, numbers in zip(placed, chosen, strict=True)):
        return None
    return grid.volume(chosen, coils)


def _notes(lines: Lines, frames: Frames, calibration: NDArray[np.int64]) -> list[str]:
    notes = []
    names = [name for index, name in enumerate(FRAME) if len({key[index] for key in frames}) > 1]
    if names:
        notes.append(f"Pictures are numbered by {', '.join(names)}.")
    if any(lines.column("average")[numbers].any() for numbers in frames.values()):
        notes.append("Averages were added up.")
    steps = lines.column("kspace_encode_step_1")
    if len({tuple(np.unique(steps[numbers])) for numbers in frames.values()}) > 1:
        notes.append("Not all pictures were sampled in the same way.")
    if calibration.size:
        notes.append(f"{calibration.size} lines are a separate calibration scan: used for coil maps, not for pictures.")
    if others := int((lines.column("encoding_space_ref") != 0).sum()):
        notes.append(f"{others} acquisitions of further encodings were left out.")
    return notes
