"""Only what was measured alike is compared."""

from results.made_rows import changed, rows
from somamba.report.runs import comparable_runs

ZERO = rows("zero_filled", "acdc", 4, psnr=(25, 26, 27))
OURS = rows("so_mamba", "acdc", 4, psnr=(30, 32, 34), ssim=[0.9] * 3)


def test_methods_on_the_same_cases_share_a_table_in_the_papers_order():
    (runs,) = comparable_runs([*OURS, *ZERO])
    assert list(runs.entries) == ["Zero-Filling", "SO-Mamba"]
    assert runs.title == "ACDC ×4, test"
    assert runs.best() == "SO-Mamba"


def test_other_masks_cases_or_accelerations_are_other_tables():
    masked = [changed(row, mask_digest="ffff", method="unet") for row in OURS]
    found = comparable_runs(
        [*ZERO, *masked, *rows("lmo", "acdc", 8, psnr=(1, 2, 3)), *rows("lmo", "acdc", 4, psnr=(1, 2))]
    )
    assert [list(runs.entries) for runs in found] == [["Zero-Filling"], ["UNet"], ["LMO"], ["LMO"]]


def test_two_trainings_of_a_method_are_told_apart():
    again = [changed(row, seed=1) for row in OURS]
    (runs,) = comparable_runs([*OURS, *again])
    assert list(runs.entries) == ["SO-Mamba, seed 0", "SO-Mamba, seed 1"]


def test_differences_are_ours_minus_the_others():
    (runs,) = comparable_runs([*ZERO, *OURS])
    found = runs.comparisons()
    assert [(one.first, one.second, one.metric) for one in found] == [
        ("SO-Mamba", "Zero-Filling", "psnr"),
        ("SO-Mamba", "Zero-Filling", "ssim"),
    ]
    assert found[0].mean == 6.0


def test_one_case_is_not_compared():
    (runs,) = comparable_runs([*rows("unet", "acdc", 4), *rows("lmo", "acdc", 4)])
    assert runs.comparisons() == []
