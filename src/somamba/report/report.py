"""The report: one page with everything that was given, in the order in which one wants to know it."""

import base64
from collections.abc import Mapping, Sequence

from somamba.report.names import REFERENCE_METHOD
from somamba.report.page.document import document
from somamba.report.page.markup import Html, element, joined
from somamba.report.runs import ComparableRuns, comparable_runs
from somamba.report.sections.cost import cost_section
from somamba.report.sections.curves import curves_section
from somamba.report.sections.leakage import leakage_section
from somamba.report.sections.provenance import provenance_section
from somamba.report.sections.scores import scores_section
from somamba.report.sections.sweep import sweep_section
from somamba.report.sections.viewer import viewer_section
from somamba.report.sources import Sources

TITLE = "SO-Mamba report"
SLICES = 20
"""Of a kept case that are put into a page; a viewer of 128 x 128 pixels has about a megabyte for each image then."""


def build_report(
    sources: Sources, *, title: str = TITLE, most_slices: int = SLICES, made_by: Mapping[str, str] | None = None
) -> str:
    """The text of an HTML file that needs nothing else.

    Args:
        sources: See `somamba.report.sources.gather`.
        title: Of the page.
        most_slices: Of each kept case, evenly spread.
        made_by: Facts about the making of this page, shown at its end.
    """
    found = comparable_runs(sources.scores)
    sections = {
        "Results": scores_section(found),
        "Slices": viewer_section(sources.cases, most_slices=most_slices),
        "Trainings": sweep_section(sources.sweep),
        "Learning curves": curves_section(sources.runs),
        "Leakage": leakage_section(sources.leakage),
        "Cost": cost_section(sources.costs),
        "Figures": _pictures(sources.pictures),
        "Provenance": provenance_section(sources, found, made_by=made_by or {}),
    }
    shown = {name: part for name, part in sections.items() if part is not None}
    links = [element("li", element("a", name, href=f"#{_anchor(name)}")) for name in shown]
    heading = element("header", element("h1", title), *_headline(found, sources))
    parts = [element("section", element("h2", name), part, id=_anchor(name)) for name, part in shown.items()]
    footer = element("footer", "For research only. Not a medical device, not for diagnostic use.")
    navigation = element("nav", element("ul", *links), aria_label="Sections")
    return document(title, joined([heading, navigation, element("main", *parts), footer], "\n"))


def _headline(found: Sequence[ComparableRuns], sources: Sources) -> list[Html]:
    """The first contest in a sentence and a few numbers; what else there is, where there is none."""
    if not found:
        counts = {"run": len(sources.runs), "kept case": len(sources.cases), "picture": len(sources.pictures)}
        words = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
        return [element("p", ", ".join(words), class_="lead")] if words else []
    contest = found[0]
    name = contest.of_method(REFERENCE_METHOD) or contest.best()
    psnr, ssim = (contest.mean(name, metric) for metric in ("psnr", "ssim"))
    cases = contest.first.cases
    lead = f"{name} on {contest.title}, {cases} case{'s' if cases > 1 else ''}."
    facts = {"PSNR": f"{psnr:.2f} dB", "SSIM": f"{ssim:.3f}"}
    baseline = contest.of_method("zero_filled")
    gain = next((one for one in contest.comparisons() if one.second == baseline and one.metric == "psnr"), None)
    if gain is not None:
        facts[f"over {gain.second}, 95 % within {gain.low:+.2f} … {gain.high:+.2f} dB"] = f"{gain.mean:+.2f} dB"
    pairs = [element("div", element("dt", label), element("dd", value)) for label, value in facts.items()]
    more = f" {len(found) - 1} more below." if len(found) > 1 else ""
    return [element("p", lead + more, class_="lead"), element("dl", *pairs, class_="facts")]


def _pictures(pictures: Mapping[str, bytes]) -> Html | None:
    if not pictures:
        return None
    figures = []
    for name, content in pictures.items():
        link = f"data:image/png;base64,{base64.b64encode(content).decode()}"
        figures.append(
            element("figure", element("img", src=link, alt=name), element("figcaption", name), class_="picture")
        )
    return joined(figures)


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")
