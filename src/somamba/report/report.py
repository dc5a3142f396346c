"""The report: one page with everything that was given, in the order in which one wants to know it."""

import base64
from collections.abc import Mapping, Sequence

from somamba.report.costs import costs_section
from somamba.report.document import document
from somamba.report.galleries import viewer_case
from somamba.report.leaks import leakage_section
from somamba.report.learning import learning_section
from somamba.report.markup import Html, element, joined
from somamba.report.origins import origins_section
from somamba.report.scores import Contest, compared, contests, scores_section
from somamba.report.sources import Sources
from somamba.report.trainings import trainings_section
from somamba.report.viewer import viewer

TITLE = "SO-Mamba report"
SLICES = 20
"""Of a kept case that are put into a page; a viewer of 128 x 128 pixels has about a megabyte for each image then."""
PRECISION = (
    "Magnitudes are stored with 16 bits (steps of 1/65535 of the largest value of a case) and spectra with 8 bits "
    "between −80 and 0 dB. Errors are computed from the 16-bit magnitudes."
)


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
    found = contests(sources.rows)
    sections = {
        "Results": _results(found),
        "Slices": _slices(sources, most_slices),
        "Trainings": trainings_section(sources.trainings) if sources.trainings else None,
        "Learning curves": learning_section(sources.runs),
        "Leakage": leakage_section(sources.leakage) if sources.leakage else None,
        "Cost": costs_section(sources.costs) if sources.costs else None,
        "Figures": _pictures(sources.pictures),
        "Provenance": origins_section(sources, found, made_by=made_by or {}),
    }
    shown = {name: part for name, part in sections.items() if part is not None}
    links = [element("li", element("a", name, href=f"#{_anchor(name)}")) for name in shown]
    heading = element("header", element("h1", title), *_headline(found, sources))
    parts = [element("section", element("h2", name), part, id=_anchor(name)) for name, part in shown.items()]
    footer = element("footer", "For research only. Not a medical device, not for diagnostic use.")
    navigation = element("nav", element("ul", *links), aria_label="Sections")
    return document(title, joined([heading, navigation, element("main", *parts), footer], "\n"))


def _headline(found: Sequence[Contest], sources: Sources) -> list[Html]:
    """The first contest in a sentence and a few numbers; what else there is, where there is none."""
    if not found:
        counts = {"run": len(sources.runs), "kept case": len(sources.cases), "picture": len(sources.pictures)}
        words = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
        return [element("p", ", ".join(words), class_="lead")] if words else []
    contest = found[0]
    name = contest.of_model("so_mamba") or contest.best()
    psnr, ssim = (contest.mean(name, metric) for metric in ("psnr", "ssim"))
    cases = contest.first.cases
    lead = f"{name} on {contest.title}, {cases} case{'s' if cases > 1 else ''}."
    facts = {"PSNR": f"{psnr:.2f} dB", "SSIM": f"{ssim:.3f}"}
    baseline = contest.of_model("zero_filled")
    gain = next((one for one in compared(contest) if one.second == baseline and one.metric == "psnr"), None)
    if gain is not None:
        facts[f"over {gain.second}, 95 % within {gain.low:+.2f} … {gain.high:+.2f} dB"] = f"{gain.mean:+.2f} dB"
    pairs = [element("div", element("dt", label), element("dd", value)) for label, value in facts.items()]
    more = f" {len(found) - 1} more below." if len(found) > 1 else ""
    return [element("p", lead + more, class_="lead"), element("dl", *pairs, class_="facts")]


def _results(found: Sequence[Contest]) -> Html | None:
    if not found:
        return None
    note = "Methods share a table only where they were measured on the same cases through the same masks."
    parts = [scores_section(contest, f"contest-{number}") for number, contest in enumerate(found)]
    return joined([element("p", note, class_="soft"), *parts])


def _slices(sources: Sources, most_slices: int) -> Html | None:
    if not sources.cases:
        return None
    cases = [viewer_case(kept, most_slices=most_slices) for kept in sources.cases]
    return joined([viewer(cases), element("p", PRECISION, class_="soft")])


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
