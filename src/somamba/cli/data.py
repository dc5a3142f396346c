"""``somamba data``: look at a dataset before training on it."""

import argparse
import difflib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from rich.progress import track
from rich.table import Table

from somamba.cli.output import make_console, say
from somamba.cli.parsers.data import parser
from somamba.data.batch import Batch, collate
from somamba.data.case import Case, Entry, LeftOut, Role
from somamba.data.catalog import DATASETS
from somamba.data.config import DataConfig
from somamba.data.prepare import prepare
from somamba.data.simulation.measure import measure
from somamba.data.simulation.seeds import Draw
from somamba.data.splits import divide
from somamba.errors import DataError, StorageError
from somamba.evaluation.metrics import psnr
from somamba.physics.coils import root_sum_of_squares

ERROR_GAIN = 5
"""Error maps are shown this much brighter than the images, always the same, so that pictures can be compared."""
PANEL = 256
"""Smallest height of a panel in pixels."""


def main(arguments: list[str]) -> None:
    """Parse and run one of the two commands."""
    options = parser().parse_args(arguments)
    if options.command == "check":
        check(options.name, options.path, quick=options.quick)
    else:
        show(options)


@dataclass
class Tally:
    """What was found in one split."""

    cases: int = 0
    slices: int = 0
    valid: int = 0
    shapes: Counter[str] = field(default_factory=Counter)


def check(name: str, path: Path, *, quick: bool) -> None:
    """Walk a dataset and print what is in it; bad files end in an error that names the first."""
    dataset, console = DATASETS[name], make_console()
    listing = dataset.find(path)
    roles = {
        entry.id: role for role, part in divide(listing.entries, dataset.validation, name).items() for entry in part
    }
    tallies: dict[Role, Tally] = {"train": Tally(), "val": Tally(), "test": Tally()}
    left_out = Counter(item.reason for item in listing.left_out)
    bad: list[str] = []
    bar = track(listing.entries, description=f"Reading {name}", console=make_console(stderr=True), transient=True)
    for entry in bar:
        try:
            case = dataset.open_case(entry)
            if isinstance(case, LeftOut):
                left_out[case.reason] += 1
                continue
            if not quick:
                _read_all(case)
        except DataError as error:
            bad.append(str(error))
            continue
        tally = tallies[roles[entry.id]]
        tally.cases += 1
        tally.slices += len(case)
        tally.valid += len(dataset.slices.of(len(case)))
        tally.shapes[_shape(case)] += 1
    console.print(_table(dataset.title, tallies))
    for reason, count in left_out.most_common():
        console.print(f"left out: {count} x {reason}", highlight=False)
    console.print(f"licence: {dataset.terms.licence}\ncite: {dataset.terms.citation}", highlight=False)
    if bad:
        raise DataError(f"{len(bad)} of {len(listing.entries)} cases cannot be used. The first: {bad[0]}")
    if not listing.entries:
        raise DataError(f"{path} holds no case of {name}. Expected layout: {dataset.layout}")
    console.print(f"all {sum(tally.cases for tally in tallies.values())} cases can be used", highlight=False)


def _read_all(case: Case) -> None:
    for volume in (case.kspace, case.image):
        if volume is not None:
            for _ in volume.blocks(range(len(volume))):
                pass  # Reading is the check: damaged, cut off and non-finite values are refused.


def _shape(case: Case) -> str:
    volume = case.image if case.kspace is None else case.kspace
    return " x ".join(map(str, volume.shape[1:])) if volume is not None else ""


def _table(title: str, tallies: dict[Role, Tally]) -> Table:
    table = Table("split", "cases", "slices", "valid slices", "shapes (cases)", title=title, title_justify="left")
    for role, tally in tallies.items():
        common = [f"{shape} ({count})" for shape, count in tally.shapes.most_common(4)]
        rest = len(tally.shapes) - len(common)
        shapes = ", ".join(common) + (f", {rest} more" if rest else "")
        table.add_row(role, str(tally.cases), str(tally.slices), str(tally.valid), shapes)
    return table


def show(options: argparse.Namespace) -> None:
    """Draw one slice."""
    config = DataConfig(
        dataset=options.name,
        path=str(options.path),
        acceleration=options.acceleration,
        protocol=options.protocol,
        mask=options.mask,
        masks="fixed",
    )
    case = config.entry.open_case(_entry(options.name, options.path, options.case))
    if isinstance(case, LeftOut):
        raise DataError(f"Case {case.name!r} is left out: {case.reason}.")
    valid = config.entry.slices.of(len(case))
    number: int = valid.start + len(valid) // 2 if options.slice is None else options.slice
    values = prepare(case, config, only=number).array[0]
    batch = collate([measure(values, config, Draw(config.seed, 0, case.id, number))])
    picture, summary = panels(batch)
    try:
        picture.save(options.output)
    except (OSError, ValueError) as error:
        raise StorageError(f"The picture cannot be written to {options.output} ({error}). Try -o case.png.") from error
    say(f"{case.id}, slice {number} of {len(case)}: {summary}; written to {options.output}")


def _entry(name: str, path: Path, case: str) -> Entry:
    entries = {entry.id: entry for entry in DATASETS[name].find(path).entries}
    if case not in entries:
        close = difflib.get_close_matches(case, entries, n=1) or list(entries)[:1]
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DataError(f"{path} has no case {case!r} among its {len(entries)} cases.{hint}")
    return entries[case]


def panels(batch: Batch) -> tuple[Image.Image, str]:
    """Target, mask, zero-filled image and its error side by side, and the numbers in words."""
    target = batch.target[0, 0].numpy()
    zero_filled = root_sum_of_squares(batch.A.adjoint(batch.y))[0, 0].numpy()
    mask = torch.broadcast_to(batch.mask, batch.target.shape)[0, 0].numpy()
    peak = float(target.max())
    sampled, decibels = f"{mask.mean():.1%} sampled", f"zero-filled {psnr(zero_filled, target):.2f} dB"
    titled: dict[str, NDArray[np.floating]] = {
        "target": target / peak,
        sampled: mask.astype(np.float32),
        decibels: zero_filled / peak,
        f"|error| x {ERROR_GAIN}": ERROR_GAIN * np.abs(zero_filled - target) / peak,
    }
    zoom = -(-PANEL // target.shape[0])
    height, width = zoom * target.shape[0], zoom * target.shape[1]
    margin, caption = 4, 18
    picture = Image.new("L", (len(titled) * (width + margin) - margin, height + caption), color=255)
    draw = ImageDraw.Draw(picture)
    for column, (title, values) in enumerate(titled.items()):
        grey = np.round(255 * np.clip(values, 0, 1)).astype(np.uint8)
        panel = Image.fromarray(grey).resize((width, height), Image.Resampling.NEAREST)
        picture.paste(panel, (column * (width + margin), caption))
        draw.text((column * (width + margin) + 2, 3), title, fill=0)
    return picture, f"{target.shape[0]} x {target.shape[1]}, {sampled}, {decibels}"
