"""``somamba data``: look at a dataset before training on it."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import torch
from rich.progress import track
from rich.table import Table

from somamba.cli.output import make_console, say
from somamba.data.batch import Batch, collate
from somamba.data.catalog import DATASETS
from somamba.data.check import DatasetCheck, check_dataset, find_case
from somamba.data.config import DataConfig
from somamba.data.prepare import prepare
from somamba.data.simulation.measure import measure
from somamba.data.simulation.seeds import Draw
from somamba.data.terms import TERMS
from somamba.durable import replace_file
from somamba.errors import DataError, UsageError
from somamba.evaluation.metrics import psnr
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.report.page.pixels import Numbers
from somamba.report.strip import draw_strip

ERROR_GAIN = 5
"""Error maps are shown this much brighter than the images, always the same, so that pictures can be compared."""


def main(options: Namespace) -> None:
    """Run one of the two commands."""
    if options.command == "check":
        check(options.name, options.path, quick=options.quick)
    else:
        show(options)


def check(name: str, path: Path, *, quick: bool) -> None:
    """Read a dataset and print what is in it; bad files end in an error that names the first.

    Args:
        name: Name of the dataset in the catalogue.
        path: Folder that holds it.
        quick: Read headers only.
    """
    dataset, console, progress = DATASETS[name], make_console(), make_console(stderr=True)
    found = check_dataset(
        name,
        path,
        quick=quick,
        watch=lambda entries: track(entries, f"Reading {name}", console=progress, transient=True),
    )
    console.print(_table(dataset.title, found))
    for note in found.notes:
        console.print(note, highlight=False, markup=False)
    for reason, count in found.left_out.most_common():
        console.print(f"left out: {count} x {reason}", highlight=False, markup=False)
    console.print(f"licence: {TERMS[name].licence}\ncite: {TERMS[name].citation}", highlight=False)
    if found.unusable:
        first = found.unusable[0]
        raise DataError(f"{len(found.unusable)} of {found.entries} cases cannot be used. The first: {first}")
    console.print(f"all {found.usable} cases can be used", highlight=False)


def _table(title: str, found: DatasetCheck) -> Table:
    table = Table("split", "cases", "slices", "valid slices", "shapes (cases)", title=title, title_justify="left")
    for role, tally in found.splits.items():
        common = [f"{shape} ({count})" for shape, count in tally.shapes.most_common(4)]
        rest = len(tally.shapes) - len(common)
        shapes = ", ".join(common) + (f", {rest} more" if rest else "")
        table.add_row(role, str(tally.cases), str(tally.slices), str(tally.valid), shapes)
    return table


def show(options: Namespace) -> None:
    """Draw one slice: its target, the mask, the zero-filled image and its error."""
    if options.output.suffix != ".png":
        raise UsageError(f"{options.output} does not end in .png, the only format that is drawn.")
    config = DataConfig(
        dataset=options.name,
        path=str(options.path),
        acceleration=options.acceleration,
        protocol=options.protocol,
        mask=options.mask,
        masks="fixed",
    )
    case = find_case(options.name, options.path, options.case)
    valid = config.entry.slices.of(len(case))
    number: int = valid.start + len(valid) // 2 if options.slice is None else options.slice
    values = prepare(case, config, only=number).array[0]
    images, summary = _images(collate([measure(values, config, Draw(config.seed, 0, case.id, number))]))
    replace_file(options.output, draw_strip(images))
    say(f"{case.id}, slice {number} of {len(case)}: {summary}; written to {options.output}")


def _images(batch: Batch) -> tuple[dict[str, Numbers], str]:
    """The images of one slice by their captions, and the numbers in words."""
    target = batch.target[0, 0].numpy()
    zero_filled = root_sum_of_squares(batch.A.adjoint(batch.y))[0, 0].numpy()
    mask = torch.broadcast_to(batch.mask, batch.target.shape)[0, 0].numpy()
    peak = float(target.max())
    sampled, decibels = f"{mask.mean():.1%} sampled", f"zero-filled {psnr(zero_filled, target):.2f} dB"
    images: dict[str, Numbers] = {
        "target": target / peak,
        sampled: mask.astype(np.float32),
        decibels: zero_filled / peak,
        f"|error| x {ERROR_GAIN}": ERROR_GAIN * np.abs(zero_filled - target) / peak,
    }
    return images, f"{target.shape[0]} x {target.shape[1]}, {sampled}, {decibels}"
