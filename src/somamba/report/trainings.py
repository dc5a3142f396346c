"""What a sweep came to, as a table in a page and as one in Markdown: networks under one budget, how far each came."""

from collections.abc import Sequence

from somamba.errors import InputError
from somamba.evaluation.sweep_rows import SweepRow
from somamba.report.formats import pipe, plain
from somamba.report.markup import Html, element, joined
from somamba.report.names import dataset_name, method_name, method_place
from somamba.report.sortable import MISSING, Entry, Head, sortable_table

COLUMNS = ("Run", "Seed", "Budget", "Steps", "Slices/s", "Epochs", "Parameters", "PSNR [dB]", "SSIM")
NOTE = (
    "Budget and speed count the time of training steps alone. Epochs are passes over the training slices that the best "
    "weights have seen. Under a budget of minutes, how far a network comes depends on the machine."
)


def trainings_section(rows: Sequence[SweepRow]) -> Html:
    """One line for each run."""
    table = sortable_table([Head(name) for name in COLUMNS], [_entries(row) for row in _ordered(rows)])
    return joined([element("p", NOTE, class_="soft"), table])


def trainings_table(rows: Sequence[SweepRow]) -> str:
    """The same in Markdown.

    Raises:
        InputError: there is nothing to show, or runs were measured on different things.
    """
    if not rows:
        raise InputError("There are no runs to make a table of.")
    measured = {(row.dataset, row.split, row.protocol, row.mask, row.acceleration, row.cases) for row in rows}
    if len(measured) > 1:
        raise InputError("The runs were measured on different data or masks; make a table of each kind.")
    lines = [list(COLUMNS), ["---", *["---:"] * (len(COLUMNS) - 1)]]
    for row in _ordered(rows):
        lines.append(["–" if entry is MISSING else plain(str(entry.content)) for entry in _entries(row)])
    return "\n".join([*(pipe(line) for line in lines), "", _note(rows[0])]) + "\n"


def _ordered(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """As the paper lists the methods, then by name of the run; grids that share a run list it once each."""
    once = {(row.run, row.weights): row for row in rows}
    return sorted(once.values(), key=lambda row: (method_place(row.model), row.run))


def _entries(row: SweepRow) -> list[Entry]:
    return [
        Entry(method_name(row.run)),
        Entry(str(row.seed), row.seed),
        Entry(row.budget, row.minutes) if row.minutes else MISSING,
        Entry(f"{row.steps:,}", row.steps),
        Entry(f"{row.slices_per_second:.2f}", row.slices_per_second),
        Entry(f"{row.epochs:.2f}", row.epochs),
        Entry(f"{row.parameters:,}", row.parameters),
        Entry(f"{row.psnr:.2f}", row.psnr),
        Entry(f"{row.ssim:.3f}", row.ssim),
    ]


def _note(row: SweepRow) -> str:
    where = f"{dataset_name(row.dataset)}, {row.split}, {row.cases} cases"
    mask = f"{row.mask} mask, nominal x{row.acceleration:g}, realised x{row.realised_acceleration:.2f}"
    return f"{where}; protocol {row.protocol}; {mask}; steps of {row.batch_size} slices. {NOTE}"
