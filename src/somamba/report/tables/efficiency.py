"""What networks cost as tables: the paper's Table 3 with what it leaves out, and one for a page.

The paper leaves out every multiply-accumulate that is not of a layer, and time and memory as measured.
"""

from collections.abc import Sequence

from somamba.errors import InputError
from somamba.report.names import REFERENCE_METHOD, method_name, method_place
from somamba.report.table import Cell, Column, Line, Table, TableBlock, number, text_cell
from somamba.report.tables.scores import score_table
from somamba.results.averages import grouped, repeated
from somamba.results.cost import CostRecord
from somamba.results.scores import ScoreRecord

PAPER_SIZE = (320, 320)
PAPER_FLOPS = {"reconformer": 270.60, "fps_former": 200.45, "lmo": 484.98, "hifi_mamba": 67.87, "so_mamba": 45.59}
"""Table 3 of the paper, in G at 320x320; not measured by us."""


def efficiency_table(costs: Sequence[CostRecord], scores: Sequence[ScoreRecord] = ()) -> Table:
    """One line for each network, in the paper's order.

    Args:
        costs: One record for each network, all at one size.
        scores: Records of evaluations, for the mean PSNR and SSIM of each network.

    Raises:
        InputError: there is nothing to show, a network comes twice or at different sizes, or scores cannot share a
            table or have several seeds.
    """
    _check(costs)
    check_scores(scores)
    ordered = sorted(costs, key=lambda cost: method_place(cost.method))
    sizes = {cost.method: cost.parameters for cost in costs}
    # The scores of a smaller or larger network of the same name say nothing about the one that was counted.
    fitting = [one for one in scores if sizes.get(one.subject.method) == one.subject.parameters]
    others = {one.subject.method for one in scores if one not in fitting and one.subject.method in sizes}
    titles, quality = _quality(fitting)
    not_scored: list[Cell | None] = [None] * len(titles)
    measured = any(cost.seconds for cost in costs)
    in_paper = ordered[0].size == PAPER_SIZE
    titles += ["parameters", "module MACs", *(["FLOPs in the paper"] if in_paper else []), "all MACs", "scan + FFT"]
    titles += ["seconds", "× SO-Mamba", "memory"] if measured else []
    unit = next((cost.seconds for cost in costs if cost.method == REFERENCE_METHOD), 0.0)
    lines: list[Line] = []
    for cost in ordered:
        name = method_name(cost.method)
        cells = [text_cell(name), *quality.get(name, not_scored)]
        cells += [number(cost.parameters, ",d"), _giga(cost.module_macs)]
        paper = PAPER_FLOPS.get(cost.method)
        cells += [None if paper is None else Cell(text=f"{paper:.2f} G", value=paper)] if in_paper else []
        cells += [_giga(cost.all_macs), _giga(cost.scan_macs + cost.fft_macs)]
        lines.append([*cells, *(_measured(cost, unit) if measured else [])])
    columns = [Column(title="Method", align="left"), *(Column(title=title) for title in titles)]
    note = _note(ordered[0], measured)
    if others:
        names = ", ".join(sorted(map(method_name, others)))
        note += f" Results of networks with another number of parameters are left out: {names}."
    return Table(columns=columns, blocks=[TableBlock(lines)], note=note)


def cost_overview(costs: Sequence[CostRecord]) -> Table:
    """One line for each network and image size, for a page."""
    titles = ("Network", "Image", "Parameters", "Module GMACs", "All GMACs", "Scan GMACs", "FFT GMACs", "Seconds", "MB")
    lines: list[Line] = []
    for cost in costs:
        macs = (cost.module_macs, cost.all_macs, cost.scan_macs, cost.fft_macs)
        lines.append(
            [
                text_cell(method_name(cost.method)),
                Cell(text=f"{cost.height} × {cost.width}", value=cost.height * cost.width),
                number(cost.parameters, ",d"),
                *(Cell(text=f"{count / 1e9:.2f}", value=count) for count in macs),
                number(cost.seconds, ".2f") if cost.seconds else None,
                number(cost.megabytes, ".0f") if cost.megabytes else None,
            ]
        )
    return Table(columns=[Column(title=title) for title in titles], blocks=[TableBlock(lines)])


def check_scores(scores: Sequence[ScoreRecord]) -> None:
    """Refuse, before anything is measured, scores that could not stand beside costs: see `efficiency_table`."""
    if scores:
        score_table(scores)
    for method, found in grouped(scores, lambda one: one.subject.method).items():
        if len({one.subject.seed for one in found}) > 1:
            raise InputError(f"{method} was evaluated with several seeds; give the files of one of them.")


def _check(costs: Sequence[CostRecord]) -> None:
    if not costs:
        raise InputError("There are no costs to show.")
    if len({cost.size for cost in costs}) > 1:
        raise InputError("The networks were counted on images of different sizes; count them on the same.")
    if double := repeated([cost.method for cost in costs]):
        raise InputError(f"{min(double)} comes more than once; was the same file given twice?")


def _quality(scores: Sequence[ScoreRecord]) -> tuple[list[str], dict[str, list[Cell | None]]]:
    """Headings, and for each network by its printed name the means over cases."""
    if not scores:
        return [], {}
    table = score_table(scores)
    titles = [column.title.replace(" ↑", "").replace(" ↓", "") for column in table.columns[1:]]
    lines = {line[0].text: line[1:] for line in table.lines if line[0]}
    return titles, {name: [cell and text_cell(cell.text) for cell in line] for name, line in lines.items()}


def _measured(cost: CostRecord, unit: float) -> list[Cell | None]:
    if not cost.seconds:
        return [None] * 3
    times = number(cost.seconds / unit, ".2f") if unit else None
    memory = Cell(text=f"{cost.megabytes:.0f} MB", value=cost.megabytes) if cost.megabytes else None
    return [number(cost.seconds, ".3f"), times, memory]


def _giga(macs: int) -> Cell:
    return Cell(text=f"{macs / 1e9:.2f} G", value=macs)


def _note(first: CostRecord, measured: bool) -> str:
    note = f"One {first.height}x{first.width} image. MACs: multiply-accumulates."
    if first.size == PAPER_SIZE:
        note += " FLOPs in the paper: its Table 3, to be compared with module MACs."
    if measured:
        where = f" on {first.processor}" if first.processor else ""
        note += (
            f" Seconds and memory of one inference, {first.threads} threads{where}, networks run in turn, best of "
            "several; memory is what an inference adds to a process."
        )
    return note
