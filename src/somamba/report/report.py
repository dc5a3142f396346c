"""The report: one page with everything that was given, the results first, then where they come from."""

import base64
from collections.abc import Mapping, Sequence

from somamba.report.colours import page_palette
from somamba.report.names import REFERENCE_METHOD, counted
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
from somamba.results.setting import Subject

TITLE = "SO-Mamba report"
SLICES = 20
"""The most slices of a kept case in a page; a viewer of 128 x 128 pixels has about a megabyte for each image then."""


def build_report(
    sources: Sources, *, title: str = TITLE, most_slices: int = SLICES, made_by: Mapping[str, str] | None = None
) -> str:
    """The text of an HTML file that needs nothing else.

    Args:
        sources: What `somamba.report.sources.gather` read.
        title: Title of the page.
        most_slices: Largest number of slices of each kept case; they are evenly spread.
        made_by: Facts about the making of this page, shown at its end.
    """
    found, palette = comparable_runs(sources.scores), page_palette(sources)
    sections = {
        "Results": scores_section(found, palette),
        "Slices": viewer_section(sources.cases, most_slices=most_slices),
        "Trainings": sweep_section(sources.sweep),
        "Learning curves": curves_section(sources.runs, palette),
        "Leakage": leakage_section(sources.leakage, palette),
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
    """The first group of evaluations in a sentence and a few numbers; if there is none, what else there is."""
    if not found:
        counts = {"run": len(sources.runs), "kept case": len(sources.cases), "picture": len(sources.pictures)}
        words = [counted(count, name) for name, count in counts.items() if count]
        return [element("p", ", ".join(words), class_="lead")] if words else []
    runs = found[0]
    best, ours, baseline = runs.best(), runs.of_method(REFERENCE_METHOD), runs.of_method("zero_filled")
    lead = f"{counted(len(runs.entries), 'method')} on {runs.title}, {counted(runs.first.cases, 'case')}."
    lead += f" {counted(len(found) - 1, 'other comparison')} below." if len(found) > 1 else ""
    facts = []
    for name in dict.fromkeys(name for name in (best, ours, baseline) if name is not None):
        role = "best, " if name == best and len(runs.entries) > 1 else ""
        budget = _budget(runs.entries[name][0].subject, sources)
        facts.append((f"{name}: {role}SSIM {runs.mean(name, 'ssim'):.3f}{budget}", f"{runs.mean(name, 'psnr'):.2f} dB"))
    gain = next((one for one in runs.comparisons() if one.second == baseline and one.metric == "psnr"), None)
    if gain is not None:
        label = f"{gain.first} over {gain.second}, 95 % within {gain.low:+.2f} … {gain.high:+.2f} dB"
        facts.append((label, f"{gain.mean:+.2f} dB"))
    pairs = [element("div", element("dt", label), element("dd", value)) for label, value in facts]
    return [element("p", lead, class_="lead"), element("dl", *pairs, class_="facts")]


def _budget(subject: Subject, sources: Sources) -> str:
    """The budget of a training in words: the minutes of its sweep if they are known, and the epochs it has seen."""
    if not subject.weights and not subject.epochs:
        return ""
    minutes = [record.budget for record in sources.sweep if record.subject.weights == subject.weights and record.budget]
    epochs = "1 epoch" if subject.epochs == 1 else f"{subject.epochs:.3g} epochs"
    return f", trained for {minutes[0]} ({epochs})" if minutes else f", trained for {epochs}"


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
