"""Rows of results arranged as the paper prints them: methods down, datasets and accelerations across, best marked.

Three layouts, the paper's: ``columns`` (its Table 1) puts the accelerations side by side, ``blocks`` (its Table 2) one
below the other, and ``ownership`` (its Table 4) is the first with the routes of each SO-Mamba variant ticked. A column
compares methods only on the same cases, measured through the same masks; anything else is refused, because the best of
different things means nothing. The paper's Table 5 has other columns: `leakage_table`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from somamba.errors import InputError
from somamba.evaluation.rows import METRICS, Row, Setting, by_setting, spread
from somamba.models.so_mamba.variants import VARIANTS
from somamba.report.names import DATASETS, method_name, method_place

DIGITS = {"psnr": 2, "ssim": 3, "nmse": 4}
LOWER_IS_BETTER = ("nmse",)
LAYOUTS = ("columns", "blocks", "ownership")
ROUTES = {"router": "SOR", "residency": "G→u", "access": "Access", "outlet": "Outlet"}
"""Fields of `Routes`, in the paper's order and by its names."""


class Trial(NamedTuple):
    """What has a line of its own: a method, or each of its seeds where it comes with several."""

    method: str
    seed: int | None

    @property
    def name(self) -> str:
        """As it is printed."""
        name = method_name(self.method)
        return name if self.seed is None else f"{name}, seed {self.seed}"


class Place(NamedTuple):
    """What one evaluation fills: a trial on a dataset at an acceleration."""

    trial: Trial
    dataset: str
    acceleration: float


class Column(NamedTuple):
    """What a column shows; ``acceleration`` is None where accelerations are blocks of lines."""

    dataset: str
    metric: str
    acceleration: float | None


class Cell(NamedTuple):
    """One entry: mean and standard deviation over cases, as text."""

    mean: str
    std: str
    best: bool
    partial: bool
    """Measured on a part of the split only."""


class Line(NamedTuple):
    """One method; ``acceleration`` is the block it stands in, None where there are no blocks."""

    method: str
    acceleration: float | None
    cells: Sequence[Cell | None]
    """One for each column, None where nothing was measured."""
    marks: Sequence[bool] = ()
    """Which routes are open, one for each of the table's marks."""


@dataclass(frozen=True)
class Table:
    """A table ready to be written down: every number is text, only marks and rules are left to the format."""

    columns: Sequence[Column]
    lines: Sequence[Line]
    marks: Sequence[str] = ()
    """Headings of what is ticked between the method and its numbers."""


def build_table(rows: Iterable[Row], *, layout: str = "columns", metrics: Sequence[str] = ("psnr", "ssim")) -> Table:
    """Arrange rows; refused where a cell would be filled twice or a column would compare different things."""
    if layout not in LAYOUTS:
        raise InputError(f"No layout is named {layout!r}; known: {', '.join(LAYOUTS)}.")
    if unknown := [name for name in metrics if name not in METRICS]:
        raise InputError(f"No metric is named {unknown[0]!r}; known: {', '.join(METRICS)}.")
    found = _evaluations(by_setting(rows))
    _check_comparable(found)
    accelerations = sorted({place.acceleration for place in found})
    blocks, across = (accelerations, [None]) if layout == "blocks" else ([None], accelerations)
    columns = [
        Column(dataset, metric, acceleration)
        for dataset in _ordered({place.dataset for place in found}, DATASETS)
        for metric in metrics
        for acceleration in across
        if acceleration is None or any(place[1:] == (dataset, acceleration) for place in found)
    ]
    lines: list[Line] = []
    for block in blocks:
        ordered = _trials(place for place in found if block in (None, place.acceleration))
        marks = [_routes(trial.method) if layout == "ownership" else () for trial in ordered]
        lines += [line._replace(marks=m) for line, m in zip(_lines(found, ordered, columns, block), marks, strict=True)]
    return Table(columns, lines, tuple(ROUTES.values()) if layout == "ownership" else ())


def _lines(
    found: Mapping[Place, Sequence[Row]], trials: Sequence[Trial], columns: Sequence[Column], block: float | None
) -> list[Line]:
    cells = []
    for column in columns:
        acceleration = column.acceleration if block is None else block
        entries = [found.get(Place(trial, column.dataset, acceleration or 0.0)) for trial in trials]
        cells.append(_cells(entries, column.metric))
    return [Line(trial.name, block, [column[i] for column in cells]) for i, trial in enumerate(trials)]


def _routes(method: str) -> tuple[bool, ...]:
    if method not in VARIANTS:
        raise InputError(f"{method} is no variant of SO-Mamba, so it has no routes to tick; choose layout columns.")
    return tuple(VARIANTS[method].routes.is_open(name) for name in ROUTES)


def _cells(entries: Sequence[Sequence[Row] | None], metric: str) -> list[Cell | None]:
    digits = DIGITS[metric]
    spreads = [spread([getattr(row, metric) for row in rows]) if rows else None for rows in entries]
    # Compared as printed: methods that show the same number are both best.
    means = [round(one.mean, digits) if one else None for one in spreads]
    known = [mean for mean in means if mean is not None]
    best = (min if metric in LOWER_IS_BETTER else max)(known) if len(known) > 1 else None
    return [
        Cell(f"{one.mean:.{digits}f}", f"{one.std:.{digits}f}", mean == best, rows[0].cases < rows[0].split_cases)
        if rows and one
        else None
        for rows, one, mean in zip(entries, spreads, means, strict=True)
    ]


def _evaluations(groups: Mapping[Setting, Sequence[Row]]) -> dict[Place, Sequence[Row]]:
    if not groups:
        raise InputError("There are no rows to make a table of.")
    seeds: dict[str, set[int]] = {}
    for setting in groups:
        seeds.setdefault(setting.method, set()).add(setting.seed)
    settings: dict[Place, Setting] = {}
    for setting in groups:
        trial = Trial(setting.method, setting.seed if len(seeds[setting.method]) > 1 else None)
        place = Place(trial, setting.dataset, setting.acceleration)
        other = settings.setdefault(place, setting)
        if other != setting:
            differ = [name for name in Setting._fields if getattr(other, name) != getattr(setting, name)]
            raise InputError(
                f"Two evaluations of {trial.name} on {place.dataset} x{place.acceleration:g}, different in "
                f"{', '.join(differ)}; give the files of one of them."
            )
    return {place: groups[setting] for place, setting in settings.items()}


def _check_comparable(found: Mapping[Place, Sequence[Row]]) -> None:
    names = ("split", "protocol", "mask_digest", "case")
    first: dict[tuple[str, float], tuple[str, set[tuple[str, ...]]]] = {}
    for place, rows in found.items():
        measured = {tuple(getattr(row, name) for name in names) for row in rows}
        other, wanted = first.setdefault(place[1:], (place.trial.method, measured))
        if measured != wanted:
            differ = [n for i, n in enumerate(names) if {one[i] for one in measured} != {one[i] for one in wanted}]
            raise InputError(
                f"{other} and {place.trial.method} cannot share a column: on {place.dataset} x{place.acceleration:g} "
                f"they differ in {', '.join(differ) or 'the mask of some case'}. Evaluate both alike, or make "
                "two tables."
            )


def _trials(places: Iterable[Place]) -> list[Trial]:
    """In the order of the methods, then by seed."""
    return sorted({place.trial for place in places}, key=lambda trial: (method_place(trial.method), trial.seed or 0))


def _ordered(names: Iterable[str], known: Mapping[str, str]) -> list[str]:
    places = {name: place for place, name in enumerate(known)}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))
