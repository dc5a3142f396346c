"""Comparisons as a table."""

from report.test_statistics import AFTER, BEFORE
from results.made_rows import rows
from somamba.report.render.markdown import markdown
from somamba.report.statistics import compare
from somamba.report.tables.comparison import comparison_table


def test_the_table_shows_signs_intervals_and_both_ps():
    made = rows("so_mamba", "acdc", 4, psnr=BEFORE) + rows("a|<b>", "acdc", 4, psnr=AFTER)
    head, rule, line = markdown(comparison_table(compare(made))).splitlines()
    assert head.startswith("| comparison | metric | cases | mean difference | 95% interval |")
    assert line.startswith("| SO-Mamba − a\\|&lt;b> | PSNR | 9 | +0.43 | [+0.")
    assert line.endswith("| 0.039 | 0.039 |")
    assert head.count("|") == rule.count("|") == line.replace("\\|", "").count("|")
