"""Results in a page: which methods may be compared, how good they are, case by case, and how sure one can be."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from somamba.errors import InputError
from somamba.evaluation.rows import METRICS, Row, Setting, by_setting, spread
from somamba.models.so_mamba.variants import VARIANTS
from somamba.report.charts import strip_chart
from somamba.report.markup import Html, element, joined
from somamba.report.names import dataset_name, distinct_names, method_place
from somamba.report.sortable import MISSING, Entry, Head, sortable_table
from somamba.report.statistics import CONFIDENCE, Comparison, compare
from somamba.report.tables import DIGITS, LOWER_IS_BETTER, ROUTES

UNITS = {"psnr": " [dB]"}
SPLITS = {"val": "validation", "train": "training"}


@dataclass(frozen=True)
class Contest:
    """Evaluations on the same cases through the same masks, in the paper's order of methods."""

    entries: dict[str, list[Row]]
    """Rows by a name for the method that is unique here."""

    @property
    def first(self) -> Row:
        """Any row: all say the same about what was measured."""
        return next(iter(self.entries.values()))[0]

    @property
    def title(self) -> str:
        """Dataset, acceleration and split."""
        return place(self.first.dataset, self.first.acceleration, self.first.split)

    @property
    def about(self) -> str:
        """Cases, mask and protocol."""
        row = self.first
        part = "" if row.cases == row.split_cases else f" of {row.split_cases}"
        return (
            f"{row.cases}{part} cases; {row.mask} mask, realised acceleration ×{row.realised_acceleration:.2f}; "
            f"protocol {row.protocol}."
        )

    def mean(self, name: str, metric: str) -> float:
        """Over cases."""
        return spread([getattr(row, metric) for row in self.entries[name]]).mean

    def best(self) -> str:
        """The method with the highest PSNR."""
        return max(self.entries, key=lambda name: self.mean(name, "psnr"))

    def of_model(self, model: str) -> str | None:
        """The name a model has here, if it takes part: of several trainings the longest, of those the first seed."""
        found = {name: rows[0].epochs for name, rows in self.entries.items() if rows[0].method == model}
        return max(found, key=lambda name: found[name], default=None)


def place(dataset: str, acceleration: float, split: str) -> str:
    """What was measured, in the words of a heading."""
    return f"{dataset_name(dataset)} ×{acceleration:g}, {SPLITS.get(split, split)}"


def contests(rows: Iterable[Row]) -> list[Contest]:
    """Sort evaluations into those that may be compared; refused where a case is missing or double."""
    groups: dict[object, dict[Setting, list[Row]]] = {}
    for setting, found in by_setting(rows).items():
        measured = frozenset((row.case, row.mask_digest) for row in found)
        key = (setting.dataset, setting.split, setting.protocol, setting.mask, setting.acceleration, measured)
        groups.setdefault(key, {})[setting] = found
    return [_contest(group) for group in groups.values()]


def scores_section(contest: Contest, identifier: str) -> Html:
    """Everything about one contest."""
    return joined(
        [
            element("h3", contest.title),
            element("p", contest.about, class_="soft"),
            means_table(contest),
            _strip(contest),
            _statistics(contest),
            _cases(contest, identifier),
        ]
    )


def means_table(contest: Contest) -> Html:
    """Mean and standard deviation over cases; the best of a column is bold, compared as printed."""
    routes = _routes(contest)
    heads = [Head("Method"), *(Head(name, "descending") for name in routes), *(_head(metric) for metric in METRICS)]
    heads += [Head("Parameters"), Head("Epochs"), Head("Seed"), Head("Weights")]
    best = {}
    for metric in METRICS:
        shown = [round(contest.mean(name, metric), DIGITS[metric]) for name in contest.entries]
        best[metric] = min(shown) if metric in LOWER_IS_BETTER else max(shown)
    lines = []
    for name, rows in contest.entries.items():
        row = rows[0]
        numbers = [_mean_entry(rows, metric, best[metric] if len(contest.entries) > 1 else None) for metric in METRICS]
        weights = Entry(element("code", row.weights[:8])) if row.weights else MISSING
        facts = [Entry(f"{row.parameters:,}", row.parameters), Entry(f"{row.epochs:.3g}", row.epochs)]
        ticks = [_tick(row.method, route) for route in routes.values()]
        lines.append([Entry(name), *ticks, *numbers, *facts, Entry(str(row.seed), row.seed), weights])
    return sortable_table(heads, lines, caption="Mean ± standard deviation over cases")


def compared(contest: Contest) -> list[Comparison]:
    """SO-Mamba, or the best where it takes no part, against each of the others."""
    if len(contest.entries) < 2 or contest.first.cases < 2:
        return []
    ours = contest.of_model("so_mamba") or contest.best()
    others = [name for name in contest.entries if name != ours]
    rows = [row for name in (ours, *others) for row in contest.entries[name]]
    return compare(rows, metrics=("psnr", "ssim"))


def _routes(contest: Contest) -> dict[str, str]:
    """Fields of `Routes` by their names in the paper's Table 4, where there are variants of SO-Mamba to tell apart."""
    variants = {rows[0].method for rows in contest.entries.values()} & set(VARIANTS)
    return {name: field for field, name in ROUTES.items()} if len(variants) > 1 else {}


def _tick(method: str, route: str) -> Entry:
    if method not in VARIANTS:
        return MISSING
    return Entry("✓", 1) if getattr(VARIANTS[method].routes, route) else Entry("–", 0)


def _contest(group: dict[Setting, list[Row]]) -> Contest:
    settings = sorted(group, key=lambda one: (method_place(one.method), one.seed, one.epochs, one.weights))
    names = distinct_names(settings)
    if len(set(names)) != len(names):
        raise InputError(f"Two evaluations of {names[0]} cannot be told apart; give the files of one of them.")
    return Contest({name: group[setting] for name, setting in zip(names, settings, strict=True)})


def _head(metric: str) -> Head:
    lower = metric in LOWER_IS_BETTER
    return Head(
        f"{metric.upper()}{UNITS.get(metric, '')} {'↓' if lower else '↑'}", "ascending" if lower else "descending"
    )


def _mean_entry(rows: Sequence[Row], metric: str, best: float | None) -> Entry:
    digits = DIGITS[metric]
    mean, std = spread([getattr(row, metric) for row in rows])
    text = f"{mean:.{digits}f}"
    shown = element("b", text) if round(mean, digits) == best else text
    return Entry(joined([shown, element("span", f" ± {std:.{digits}f}", class_="spread")]), mean)


def _strip(contest: Contest) -> Html:
    groups = [(name, [(row.case, row.psnr) for row in rows]) for name, rows in contest.entries.items()]
    about = f"PSNR of every case by each of {len(groups)} methods on {contest.title}; the table below has the numbers."
    return strip_chart(groups, x="PSNR of each case [dB]; the bar is their mean", about=about)


def _statistics(contest: Contest) -> Html | None:
    found = compared(contest)
    if not found:
        return None
    heads = [Head("Comparison"), Head("Metric"), Head("Mean difference", "descending")]
    heads += [Head(f"{CONFIDENCE:.0%} interval"), Head("p"), Head("p (Holm)")]
    lines = []
    for one in found:
        digits = DIGITS[one.metric]
        interval = _signed(f"{one.low:+.{digits}f} … {one.high:+.{digits}f}")
        numbers = [Entry(_signed(f"{one.mean:+.{digits}f}"), one.mean), Entry(interval, one.low)]
        chances = [Entry(f"{p:.2g}", p) for p in (one.p, one.p_holm)]
        lines.append([Entry(f"{one.first} − {one.second}"), Entry(one.metric.upper()), *numbers, *chances])
    note = (
        "Case by case: the interval comes from drawing cases again (bootstrap), p from Wilcoxon’s signed-rank test, "
        "two-sided, then adjusted by Holm to this table. It speaks of other cases, not of another training."
    )
    if sum(rows[0].method == "so_mamba" for rows in contest.entries.values()) > 1:
        note += " Of several trainings of SO-Mamba the longest is compared, of equally long ones the first seed."
    # The best weights of equal budgets may be a validation apart.
    lengths = [rows[0].epochs for rows in contest.entries.values() if rows[0].epochs]
    if lengths and max(lengths) > 1.2 * min(lengths):
        note += " The networks were trained for different numbers of epochs: what differs is the training, too."
    return joined(
        [element("h3", "Paired differences"), element("p", note, class_="soft"), sortable_table(heads, lines)]
    )


def _cases(contest: Contest, identifier: str) -> Html:
    """Every case by itself, for one metric at a time."""
    buttons, tables = [], []
    for number, metric in enumerate(METRICS):
        part = f"{identifier}-{metric}"
        buttons.append(
            element("button", metric.upper(), type="button", aria_pressed=str(number == 0).lower(), data_shows=part)
        )
        tables.append(element("div", _case_table(contest, metric), id=part, hidden=number > 0))
    choice = element("div", *buttons, class_="choices", role="group", aria_label="Metric", data_choose=True)
    return element("details", element("summary", f"All {contest.first.cases} cases"), choice, *tables)


def _case_table(contest: Contest, metric: str) -> Html:
    names, digits = list(contest.entries), DIGITS[metric]
    found = {name: {row.case: row for row in rows} for name, rows in contest.entries.items()}
    order = _head(metric).first
    heads = [Head("Case"), Head("Slices"), *(Head(name, order) for name in names)]
    lines = []
    for case, row in found[names[0]].items():
        values = [getattr(found[name][case], metric) for name in names]
        numbers = [Entry(f"{value:.{digits}f}", value) for value in values]
        lines.append([Entry(case), Entry(str(row.slices), row.slices), *numbers])
    return sortable_table(
        heads, lines, caption=f"{metric.upper()}{UNITS.get(metric, '')}, mean over the slices of a case"
    )


def _signed(text: str) -> str:
    return text.replace("-", "−")
