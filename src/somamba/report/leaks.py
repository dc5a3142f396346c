"""Two-level leakage in a page: the numbers of the paper's Table 5, and every unit by itself."""

from collections.abc import Sequence

from somamba.evaluation.leakage_rows import LeakageRow, by_cutoff, by_measurement, by_unit
from somamba.report.charts import Series, line_chart
from somamba.report.markup import Html, element, joined
from somamba.report.names import distinct_names, method_place
from somamba.report.scores import place
from somamba.report.sortable import Entry, Head, sortable_table

DETAILS = ("seed", "epochs", "dataset", "acceleration", "split", "protocol", "mask", "radius", "cases", "weights")
"""What may tell two measurements of one method apart, first what one would rather read."""


def leakage_section(rows: Sequence[LeakageRow]) -> Html:
    """A table over all units, then a chart for each cutoff."""
    found = by_measurement(rows)
    ordered = sorted(found, key=lambda one: (method_place(one.method), one.seed, one.epochs))
    groups = {about: found[about] for about in ordered}
    radii = sorted({about.radius for about in groups})
    names = distinct_names(list(groups), DETAILS)
    heads = [Head("Method"), Head("r"), Head("HLeak"), Head("RLeak"), Head("η"), Head("Cases"), Head("Measured on")]
    heads += [Head("ρ = 1 at the")] if len(radii) > 1 else []
    lines, charts = [], []
    for name, (about, measured) in zip(names, groups.items(), strict=True):
        for cutoff, (hleak, rleak, eta) in by_cutoff(measured).items():
            levels = [
                Entry(
                    joined([f"{one.mean:.4f}", element("span", f" ± {one.std:.4f}", class_="spread")]),
                    one.mean,
                )
                for one in (hleak, rleak)
            ]
            numbers = [
                Entry(f"{cutoff:g}", cutoff),
                *levels,
                Entry(f"{eta:.3f}", eta),
                Entry(str(about.cases), about.cases),
            ]
            where = place(about.dataset, about.acceleration, about.split)
            lines.append([Entry(name), *numbers, Entry(where), *([Entry(about.radius)] if len(radii) > 1 else [])])
    for cutoff in sorted({row.cutoff for row in rows}):
        charts.append(_chart(cutoff, list(zip(names, groups.values(), strict=True))))
    note = (
        "HLeak is the share of the energy of the states beyond the radial cutoff r, RLeak that of the read-out, "
        f"η = RLeak / HLeak, taken of the means; r is a share of the distance to the {' or the '.join(radii)} of the "
        "transform grid."
    )
    return joined(
        [element("p", note, class_="soft"), sortable_table(heads, lines), element("div", *charts, class_="charts")]
    )


def _chart(cutoff: float, groups: Sequence[tuple[str, list[LeakageRow]]]) -> Html:
    series = []
    for number, (name, found) in enumerate(groups):
        units = [(unit, average) for (r, unit), average in by_unit(found).items() if r == cutoff]
        if units:
            states = [(float(unit), average.hleak.mean) for unit, average in units]
            reads = [(float(unit), average.rleak.mean) for unit, average in units]
            series.append(Series(name=f"{name}, HLeak", points=states, colour=number, dots=True))
            series.append(Series(name=f"{name}, RLeak", points=reads, colour=number, dots=True, dashed=True))
    about = f"HLeak and RLeak of every unit at cutoff {cutoff:g}, for {', '.join(name for name, _ in groups)}."
    return line_chart(series, x="unit", y=f"leakage at r = {cutoff:g}", about=about, whole=True)
