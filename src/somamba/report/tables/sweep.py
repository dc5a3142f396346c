"""The runs of a sweep as a table: networks under one budget, how far each came, and its scores."""

from collections.abc import Sequence

from somamba.errors import InputError
from somamba.report.names import dataset_name, method_name, method_place
from somamba.report.table import Cell, Column, Line, Table, TableBlock, number, text_cell
from somamba.results.comparable import check_comparable
from somamba.results.sweep import SweepRecord

TITLES = ("Run", "Seed", "Budget", "Steps", "Slices/s", "Epochs", "Parameters", "PSNR [dB]", "SSIM")
NOTE = (
    "Budget and speed count the time of training steps alone. Epochs are passes over the training slices that the best "
    "weights have seen. Under a budget of minutes, how far a network comes depends on the machine."
)


def sweep_table(records: Sequence[SweepRecord]) -> Table:
    """One line for each run; refused if there is none, or if runs were measured on different things."""
    if not records:
        raise InputError("There are no runs to make a table of.")
    check_comparable((record.run, record.conditions) for record in records)
    first = records[0]
    setting = first.setting
    where = f"{dataset_name(setting.dataset)}, {setting.split}, {first.cases} cases"
    mask = f"{setting.mask} mask, nominal x{setting.acceleration:g}, realised x{first.realised_acceleration:.2f}"
    note = f"{where}; protocol {setting.protocol}; {mask}; steps of {first.batch_size} slices. {NOTE}"
    return runs_table(records, note=note)


def runs_table(records: Sequence[SweepRecord], *, note: str = "") -> Table:
    """One line for each run, in the paper's order of methods; a run that several grids share comes once."""
    once = {(record.run, record.subject.weights): record for record in records}
    ordered = sorted(once.values(), key=lambda record: (method_place(record.subject.method), record.run))
    columns = [Column(title=title, align="right" if place else "left") for place, title in enumerate(TITLES)]
    return Table(columns=columns, blocks=[TableBlock([_line(record) for record in ordered])], note=note)


def _line(record: SweepRecord) -> Line:
    return [
        text_cell(method_name(record.run)),
        number(record.subject.seed, "d"),
        Cell(text=record.budget, value=record.minutes) if record.minutes else None,
        number(record.steps, ",d"),
        number(record.slices_per_second, ".2f"),
        number(record.subject.epochs, ".2f"),
        number(record.subject.parameters, ",d"),
        number(record.psnr, ".2f"),
        number(record.ssim, ".3f"),
    ]
