"""The cost of networks in a page: size, multiply-accumulates, and time and memory if they were measured."""

from collections.abc import Sequence

from somamba.report.page.markup import Html, element, joined
from somamba.report.render.html import html
from somamba.report.tables.efficiency import cost_overview
from somamba.results.cost import CostRecord

NOTE = (
    "Module MACs are layers only, as the paper counts; all MACs are every matrix product and convolution that runs; "
    "scan and FFT are counted by formula. Seconds and megabytes are of one inference, on the machine named below."
)


def cost_section(costs: Sequence[CostRecord]) -> Html | None:
    """One line for each network and image size; None if there are no records."""
    if not costs:
        return None
    places = {f"{cost.processor}, {cost.threads} threads" for cost in costs if cost.processor}
    machines = "; ".join(sorted(places)) or "nothing was measured, only counted"
    measured = element("p", f"Measured on: {machines}.", class_="soft")
    return joined([element("p", NOTE, class_="soft"), html(cost_overview(costs)), measured])
