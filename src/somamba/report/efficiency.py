"""The paper's Table 3, and what it leaves out: every multiply-accumulate, and time and memory as measured."""

from collections.abc import Sequence

from somamba.errors import InputError
from somamba.evaluation.cost_rows import CostRow
from somamba.evaluation.rows import Row
from somamba.report.names import dataset_name, method_name, method_place
from somamba.report.tables import Column, Table, build_table

PAPER_SIZE = (320, 320)
PAPER_FLOPS = {"reconformer": 270.60, "fps_former": 200.45, "lmo": 484.98, "hifi_mamba": 67.87, "so_mamba": 45.59}
"""Table 3 of the paper, in G at 320x320; not measured by us."""
YARDSTICK = "so_mamba"


def efficiency_table(costs: Sequence[CostRow], results: Sequence[Row] = ()) -> str:
    """Markdown, methods in the paper's order.

    Args:
        costs: One row for each network, all at one size.
        results: Rows of evaluations, for the mean PSNR and SSIM of each network.

    Raises:
        InputError: there is nothing to show, a network comes twice or at different sizes, or results cannot share a
            table or have several seeds.
    """
    _check(costs)
    check_results(results)
    ordered = sorted(costs, key=lambda row: method_place(row.method))
    sizes = {row.method: row.parameters for row in costs}
    # What a smaller or larger network of the same name scored says nothing about the one that was counted.
    fitting = [row for row in results if sizes.get(row.method) == row.parameters]
    others = {method_name(row.method) for row in results if sizes.get(row.method, row.parameters) != row.parameters}
    quality = build_table(fitting) if fitting else None
    columns = _columns(ordered, quality)
    heads = [["Method", *columns], ["---", *["---:"] * len(columns)]]
    cells = [[method_name(row.method), *_cells(row, ordered, quality)] for row in ordered]
    lines = [f"| {' | '.join(line)} |" for line in [*heads, *cells]]
    note = _note(ordered)
    if others:
        note += f" Results of networks with another number of parameters are left out: {', '.join(sorted(others))}."
    return "\n".join([*lines, "", note]) + "\n"


def check_results(results: Sequence[Row]) -> None:
    """Refuse, before anything is measured, what could not stand beside costs: see `efficiency_table`."""
    if results:
        build_table(results)
    seeds: dict[str, set[int]] = {}
    for row in results:
        seeds.setdefault(row.method, set()).add(row.seed)
    if several := [method for method, found in seeds.items() if len(found) > 1]:
        raise InputError(f"{several[0]} was evaluated with several seeds; give the files of one of them.")


def _check(costs: Sequence[CostRow]) -> None:
    if not costs:
        raise InputError("There are no costs to show.")
    if len({row.size for row in costs}) > 1:
        raise InputError("The networks were counted on images of different sizes; count them on the same.")
    names = [row.method for row in costs]
    if double := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{double[0]} comes more than once; was the same file given twice?")


def _columns(rows: Sequence[CostRow], quality: Table | None) -> list[str]:
    found = [_heading(column) for column in quality.columns] if quality else []
    found += ["parameters", "module MACs"]
    found += ["FLOPs in the paper"] if rows[0].size == PAPER_SIZE else []
    found += ["all MACs", "scan + FFT"]
    return found + (["seconds", "× SO-Mamba", "memory"] if _measured(rows) else [])


def _heading(column: Column) -> str:
    heading = f"{dataset_name(column.dataset)} {column.metric.upper()}"
    return heading if column.acceleration is None else f"{heading} ×{column.acceleration:g}"


def _cells(row: CostRow, rows: Sequence[CostRow], quality: Table | None) -> list[str]:
    cells = _quality_cells(row, quality) if quality else []
    cells += [f"{row.parameters:,}", _giga(row.module_macs)]
    if row.size == PAPER_SIZE:
        cells.append(f"{PAPER_FLOPS[row.method]:.2f} G" if row.method in PAPER_FLOPS else "–")
    cells += [_giga(row.all_macs), _giga(row.scan_macs + row.fft_macs)]
    if _measured(rows):
        unit = next((one.seconds for one in rows if one.method == YARDSTICK), 0.0)
        times = f"{row.seconds / unit:.2f}" if unit else "–"
        memory = f"{row.megabytes:.0f} MB" if row.megabytes else "–"
        cells += [f"{row.seconds:.3f}", times, memory] if row.seconds else ["–"] * 3
    return cells


def _quality_cells(row: CostRow, quality: Table) -> list[str]:
    """Means over cases; a dash where the network was not evaluated."""
    found = [line.cells for line in quality.lines if line.method == method_name(row.method)]
    cells = found[0] if found else [None] * len(quality.columns)
    return ["–" if cell is None else cell.mean for cell in cells]


def _measured(rows: Sequence[CostRow]) -> bool:
    return any(row.seconds for row in rows)


def _giga(macs: int) -> str:
    return f"{macs / 1e9:.2f} G"


def _note(rows: Sequence[CostRow]) -> str:
    first = rows[0]
    note = f"One {first.height}x{first.width} image. MACs: multiply-accumulates."
    if first.size == PAPER_SIZE:
        note += " FLOPs in the paper: its Table 3, to be compared with module MACs."
    if _measured(rows):
        where = f" on {first.processor}" if first.processor else ""
        note += (
            f" Seconds and memory of one inference, {first.threads} threads{where}, networks run in turn, best of "
            "several; memory is what an inference adds to a process."
        )
    return note
