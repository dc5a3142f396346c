"""Comparisons over cases agree with what other programs say, and refuse what cannot be paired."""

import numpy as np
import pytest

from results.made_rows import changed, rows
from somamba.errors import InputError
from somamba.report.statistics import compare, differences, holm, interval, signed_rank

# Hollander & Wolfe (1973), 29f: depression before and after; the example of R's wilcox.test.
BEFORE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]


def test_the_signed_rank_test_is_that_of_r():
    """R: wilcox.test(before, after, paired = TRUE) gives V = 40, p-value = 0.03906."""
    assert signed_rank(np.array(BEFORE) - np.array(AFTER)) == pytest.approx(0.0390625)


def test_equal_methods_are_not_told_apart():
    assert signed_rank(np.zeros(5)) == 1.0


def test_ties_and_zeros_are_no_trouble():
    assert 0 < signed_rank(np.array([0.0, 1.0, 1.0, -1.0, 2.0, 2.0])) < 1


def test_the_adjustment_is_that_of_r():
    """R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") gives 0.03 0.06 0.06 0.02."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.04]) == [0.04]


def test_the_bootstrap_of_two_cases_reaches_from_one_to_the_other():
    """The mean of two draws is 0, 1/2 or 1, with chances 1/4, 1/2, 1/4."""
    assert interval(np.array([0.0, 1.0])) == (0.0, 1.0)


def test_the_bootstrap_of_many_cases_is_the_normal_interval():
    values = np.random.default_rng(1).normal(0.3, 2.0, size=400)
    half = 1.96 * values.std() / 20
    assert interval(values) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.1 * half)


def test_the_seed_alone_decides_the_interval():
    values = np.array(BEFORE)
    assert interval(values, seed=3) == interval(values, seed=3)
    assert interval(values, seed=3) != interval(values, seed=4)


def test_cases_are_paired_by_name_and_not_by_place():
    first, second = (
        rows("so_mamba", "acdc", 4, psnr=[30.0, 34.0, 35.0]),
        rows("unet", "acdc", 4, psnr=[29.0, 32.0, 30.0]),
    )
    assert differences(first, second[::-1], "psnr").tolist() == [1.0, 2.0, 5.0]


def test_the_first_is_compared_with_each_of_the_others_and_adjusted_together():
    made = rows("so_mamba", "acdc", 4, psnr=BEFORE, ssim=AFTER)
    made += rows("unet", "acdc", 4, psnr=AFTER, ssim=AFTER) + rows("mine", "acdc", 4, psnr=BEFORE, ssim=BEFORE)
    found = compare(made, metrics=["psnr", "ssim"])
    assert [(one.first, one.second, one.metric) for one in found] == [
        ("SO-Mamba", "UNet", "psnr"),
        ("SO-Mamba", "mine", "psnr"),
        ("SO-Mamba", "UNet", "ssim"),
        ("SO-Mamba", "mine", "ssim"),
    ]
    assert found[0].mean == pytest.approx(np.mean(BEFORE) - np.mean(AFTER))
    assert found[0].low < found[0].mean < found[0].high
    assert [one.p for one in found] == pytest.approx([0.0390625, 1, 1, 0.0390625])
    assert [one.p_holm for one in found] == pytest.approx([0.15625, 1, 1, 0.15625])
    assert (found[1].low, found[1].mean, found[1].high) == (0, 0, 0)


def test_two_seeds_of_one_method_are_told_apart():
    made = rows("so_mamba", "acdc", 4, psnr=[30.0, 31.0])
    found = compare(made + [changed(row, seed=1, psnr=row.psnr + 1) for row in made])
    assert (found[0].first, found[0].second, found[0].mean) == ("SO-Mamba, seed 0", "SO-Mamba, seed 1", -1)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"mask_digest": "feed"}, "differ in the mask of case0"),
        ({"split": "val", "protocol": "raw"}, "differ in split, protocol"),
        ({"acceleration": 8.0}, "differ in acceleration"),
    ],
)
def test_what_was_measured_differently_is_refused(change, complaint):
    other = [changed(row, **change) for row in rows("unet", "acdc", 4, psnr=[30.0, 31.0])]
    with pytest.raises(InputError, match=complaint):
        compare(rows("so_mamba", "acdc", 4, psnr=[30.0, 31.0]) + other)


def test_what_cannot_be_paired_is_refused():
    two, three = rows("so_mamba", "acdc", 4, psnr=[30.0, 31.0]), rows("unet", "acdc", 4, psnr=[30.0, 31.0, 32.0])
    with pytest.raises(InputError, match=r"cases \(case2 in one of them only\)"):
        compare(two + three)
    with pytest.raises(InputError, match="two evaluations or more, there are 1"):
        compare(two)
    with pytest.raises(InputError, match="one case alone"):
        compare(two[:0] + rows("so_mamba", "acdc", 4) + rows("unet", "acdc", 4))
    with pytest.raises(InputError, match="beauty"):
        compare(two, metrics=["beauty"])
