"""What networks cost, in a page: size, multiply-accumulates, and time and memory where they were measured."""

from collections.abc import Sequence

from somamba.evaluation.cost_rows import CostRow
from somamba.report.markup import Html, element, joined
from somamba.report.names import method_name
from somamba.report.sortable import MISSING, Entry, Head, sortable_table

COLUMNS = ("Network", "Image", "Parameters", "Module GMACs", "All GMACs", "Scan GMACs", "FFT GMACs", "Seconds", "MB")
NOTE = (
    "Module MACs are layers only, as the paper counts; all MACs are every matrix product and convolution that runs; "
    "scan and FFT are counted by formula. Seconds and megabytes are of one inference, on the machine named below."
)


def costs_section(rows: Sequence[CostRow]) -> Html:
    """One line for each network and image size."""
    lines = [_line(row) for row in rows]
    places = {f"{row.processor}, {row.threads} threads" for row in rows if row.processor}
    machines = "; ".join(sorted(places)) or "nothing was measured, only counted"
    table = sortable_table([Head(name) for name in COLUMNS], lines)
    return joined([element("p", NOTE, class_="soft"), table, element("p", f"Measured on: {machines}.", class_="soft")])


def _line(row: CostRow) -> list[Entry]:
    macs = [row.module_macs, row.all_macs, row.scan_macs, row.fft_macs]
    return [
        Entry(method_name(row.method)),
        Entry(f"{row.height} × {row.width}", row.height * row.width),
        Entry(f"{row.parameters:,}", row.parameters),
        *(Entry(f"{count / 1e9:.2f}", count) for count in macs),
        Entry(f"{row.seconds:.2f}", row.seconds) if row.seconds else MISSING,
        Entry(f"{row.megabytes:.0f}", row.megabytes) if row.megabytes else MISSING,
    ]
