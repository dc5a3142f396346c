"""Two-level leakage in a page: the numbers of the paper's Table 5, and every unit by itself."""

from collections.abc import Mapping, Sequence

from somamba.report.colours import Palette, again
from somamba.report.names import distinct_names, method_place
from somamba.report.page.charts import Series, line_chart
from somamba.report.page.markup import Html, element, joined
from somamba.report.render.html import html
from somamba.report.tables.leakage import leakage_overview
from somamba.results.leakage import LeakageRecord, by_measurement, by_unit, cutoffs

DETAILS = ("seed", "epochs", "dataset", "acceleration", "split", "protocol", "mask", "radius", "cases", "weights")
"""The fields that may tell two measurements of one method apart, the most telling first."""


def leakage_section(records: Sequence[LeakageRecord], palette: Palette) -> Html | None:
    """A table over all units, then a chart for each cutoff; None if there are no records."""
    if not records:
        return None
    found = by_measurement(records)
    subjects = {key: key.evaluation.subject for key in found}
    ordered = sorted(
        found, key=lambda key: (method_place(subjects[key].method), subjects[key].seed, subjects[key].epochs)
    )
    names = distinct_names(ordered, DETAILS)
    groups = {name: found[key] for name, key in zip(names, ordered, strict=True)}
    radii = sorted({key.radius for key in found})
    note = (
        "HLeak is the share of the energy of the states beyond the radial cutoff r, RLeak that of the read-out, "
        f"η = RLeak / HLeak, taken of the means; r is a share of the distance to the {' or the '.join(radii)} of the "
        "transform grid."
    )
    table = leakage_overview({name: (key, found[key]) for name, key in zip(names, ordered, strict=True)})
    charts = [_chart(cutoff, groups, palette) for cutoff in cutoffs(records)]
    return joined([element("p", note, class_="soft"), html(table), element("div", *charts, class_="charts")])


def _chart(cutoff: float, groups: Mapping[str, Sequence[LeakageRecord]], palette: Palette) -> Html:
    series = []
    subjects = [records[0].subject for records in groups.values()]
    colours = [palette.colour(subject.method, subject.seed) for subject in subjects]
    for (name, records), colour, hollow in zip(groups.items(), colours, again(colours), strict=True):
        units = [(unit, average) for (r, unit), average in by_unit(records).items() if r == cutoff]
        if units:
            states = [(float(unit), average.hleak.mean) for unit, average in units]
            reads = [(float(unit), average.rleak.mean) for unit, average in units]
            series.append(Series(name=f"{name}, HLeak", points=states, colour=colour, dots=True, hollow=hollow))
            more = Series(name=f"{name}, RLeak", points=reads, colour=colour, dots=True, hollow=hollow, dashed=True)
            series.append(more)
    about = f"HLeak and RLeak of every unit at cutoff {cutoff:g}, for {', '.join(groups)}."
    return line_chart(series, x="unit", y=f"leakage at r = {cutoff:g}", about=about, whole=True)
