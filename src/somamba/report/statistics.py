"""Is one method better than another, or were the cases kind to it? Paired over cases, because cases differ more.

mean       difference of the means, with a bootstrap interval: cases drawn again with replacement, 95 of 100 such means
p          Wilcoxon's signed-rank test, two-sided: how often chance alone would rank the differences so unevenly
p (Holm)   the same for the table as a whole: many comparisons find something by chance, and this one pays for it
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from somamba.errors import InputError
from somamba.evaluation.rows import METRICS, Row, by_setting
from somamba.report.names import distinct_names
from somamba.report.tables import DIGITS

RESAMPLES = 10_000
CONFIDENCE = 0.95
SHARED = ("dataset", "split", "protocol", "mask_digest", "acceleration")
"""What two rows of a case must have in common to be compared."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two methods on the same cases by one metric; differences are ``first`` minus ``second``."""

    first: str
    second: str
    metric: str
    cases: int
    mean: float
    low: float
    """Lower end of the interval of the mean difference."""
    high: float
    p: float
    p_holm: float
    """Adjusted to the table that the comparison stands in."""


def compare(rows: Iterable[Row], *, metrics: Sequence[str] = ("psnr",), seed: int = 0) -> list[Comparison]:
    """Compare the first evaluation among the rows with each of the others.

    Args:
        rows: Of two evaluations or more, measured on the same cases through the same masks.
        metrics: By which to compare; all of them share one adjustment.
        seed: Of the bootstrap.
    """
    if unknown := [name for name in metrics if name not in METRICS]:
        raise InputError(f"No metric is named {unknown[0]!r}; known: {', '.join(METRICS)}.")
    groups = by_setting(rows)
    if len(groups) < 2:
        raise InputError(f"A comparison takes two evaluations or more, there are {len(groups)}.")
    names = distinct_names(list(groups))
    (first, *others), (name, *other_names) = groups.values(), names
    found = []
    for metric in metrics:
        for other, second in zip(others, other_names, strict=True):
            values = differences(first, other, metric)
            low, high = interval(values, seed=seed)
            p = signed_rank(values)
            mean, cases = float(values.mean()), len(values)
            found.append(
                Comparison(
                    first=name, second=second, metric=metric, cases=cases, mean=mean, low=low, high=high, p=p, p_holm=p
                )
            )
    adjusted = holm([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, adjusted, strict=True)]


def differences(first: Sequence[Row], second: Sequence[Row], metric: str) -> NDArray[np.float64]:
    """What the first has more than the second, case by case; refused where they were not measured alike."""
    mine, theirs = ({row.case: row for row in rows} for rows in (first, second))
    pair = f"{first[0].method} and {second[0].method} cannot be compared"
    if mine.keys() != theirs.keys():
        alone = sorted(mine.keys() ^ theirs.keys())
        raise InputError(f"{pair}: only one of them has {', '.join(alone[:3])}{' ...' if alone[3:] else ''}.")
    if len(mine) < 2:
        raise InputError(f"{pair}: one case alone says nothing about others.")
    for case, row in mine.items():
        if differ := [name for name in SHARED if getattr(row, name) != getattr(theirs[case], name)]:
            raise InputError(f"{pair}: case {case!r} differs in {', '.join(differ)}. Evaluate both alike.")
    return np.array([getattr(row, metric) - getattr(theirs[case], metric) for case, row in mine.items()])


def interval(values: NDArray[np.float64], *, seed: int = 0) -> tuple[float, float]:
    """Where the mean of the values lies when cases are drawn again: percentiles of the bootstrap."""
    draws = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values[draws].mean(axis=1), [tail, 100 - tail])
    return float(low), float(high)


def signed_rank(values: NDArray[np.float64]) -> float:
    """The two-sided p of Wilcoxon's test that the differences lie evenly around zero; 1 where all of them are zero."""
    return float(wilcoxon(values).pvalue) if np.any(values) else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: valid whatever the comparisons have to do with each other."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda index: p[index])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = largest
    return adjusted


def comparison_table(found: Sequence[Comparison]) -> str:
    """Markdown; the names of methods come from files, so no sign of theirs may end a cell."""
    heads = ["comparison", "metric", "cases", "mean difference", f"{CONFIDENCE:.0%} interval", "p", "p (Holm)"]
    lines = [heads, ["---", "---", *["---:"] * 5]]
    for one in found:
        digits = DIGITS[one.metric]
        numbers = [f"{one.mean:+.{digits}f}", f"[{one.low:+.{digits}f}, {one.high:+.{digits}f}]"]
        pair = f"{one.first} − {one.second}".replace("|", "\\|").replace("<", "&lt;")
        lines.append([pair, one.metric.upper(), str(one.cases), *numbers, f"{one.p:.2g}", f"{one.p_holm:.2g}"])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
