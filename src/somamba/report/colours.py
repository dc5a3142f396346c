"""Colours of a page: a training of a method has the same colour in every section."""

from collections.abc import Iterable
from dataclasses import dataclass

from somamba.report.names import REFERENCE_METHOD, method_place
from somamba.report.page.charts import COLOURS
from somamba.report.sources import Sources


@dataclass(frozen=True)
class Palette:
    """The trainings of a page, each by its method and seed, in the order of their colours."""

    trainings: tuple[tuple[str, int], ...]

    def colour(self, method: str, seed: int | None = None) -> int:
        """Number of the colour, from 0; an unknown seed has the colour of the method's first training."""
        places = [place for place, one in enumerate(self.trainings) if seed in (None, one[1]) and one[0] == method]
        return places[0] if places else len(self.trainings)


def page_palette(sources: Sources) -> Palette:
    """The colours of everything that a page shows: SO-Mamba first, then the paper's order of methods."""
    subjects = [record.subject for record in [*sources.scores, *sources.leakage]]
    known = {(subject.method, subject.seed) for subject in subjects}
    methods = {method for method, _ in known}
    for run in sources.runs:
        if run.seed is not None or run.model not in methods:
            known.add((run.model, run.seed or 0))
    return Palette(tuple(sorted(known, key=lambda one: (one[0] != REFERENCE_METHOD, method_place(one[0]), one[1]))))


def again(colours: Iterable[int]) -> list[bool]:
    """Which of these lines share their colour with an earlier one, or have a colour that came before."""
    numbers = list(colours)
    return [number >= COLOURS or number in numbers[:place] for place, number in enumerate(numbers)]
