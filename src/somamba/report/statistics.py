"""Paired comparison of methods over the same cases.

Pairing removes the variation between cases, which is larger than that between methods.

mean       difference of the means, with a bootstrap interval: cases drawn again with replacement, 95 of 100 such means
p          Wilcoxon's signed-rank test, two-sided: how often chance alone would rank the differences so unevenly
p (Holm)   the same, adjusted to the number of comparisons in the table
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from somamba.errors import InputError
from somamba.report.names import distinct_names
from somamba.results.comparable import check_comparable, conditions
from somamba.results.scores import ScoreRecord, by_evaluation, check_metrics

RESAMPLES = 10_000
CONFIDENCE = 0.95


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
    """p, adjusted to the number of comparisons in the table."""


def compare(records: Iterable[ScoreRecord], *, metrics: Sequence[str] = ("psnr",), seed: int = 0) -> list[Comparison]:
    """Compare the first evaluation among the records with each of the others.

    Args:
        records: Records of two evaluations or more, measured on the same cases through the same masks.
        metrics: The metrics to compare; all of them share one adjustment.
        seed: Seed of the bootstrap.
    """
    check_metrics(metrics)
    groups = by_evaluation(records)
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


def differences(first: Sequence[ScoreRecord], second: Sequence[ScoreRecord], metric: str) -> NDArray[np.float64]:
    """The values of the first minus those of the second, case by case; refused if they were not measured alike.

    Args:
        first: Records of one evaluation.
        second: Records of another.
        metric: The metric that is compared.
    """
    check_comparable((records[0].subject.method, conditions(records)) for records in (first, second))
    if len(first) < 2:
        raise InputError(f"{first[0].subject.method} cannot be compared: one case alone says nothing about others.")
    theirs = {record.case: getattr(record, metric) for record in second}
    return np.array([getattr(record, metric) - theirs[record.case] for record in first])


def interval(values: NDArray[np.float64], *, seed: int = 0) -> tuple[float, float]:
    """The interval of the mean when cases are drawn again: percentiles of the bootstrap."""
    draws = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values[draws].mean(axis=1), [tail, 100 - tail])
    return float(low), float(high)


def signed_rank(values: NDArray[np.float64]) -> float:
    """The two-sided p of Wilcoxon's test that the differences lie evenly around zero; 1 if all of them are zero."""
    return float(wilcoxon(values).pvalue) if np.any(values) else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment; it is valid for any dependence between the comparisons."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda index: p[index])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = largest
    return adjusted
