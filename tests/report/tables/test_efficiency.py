"""The paper's Table 3 from rows of costs: our counts, the paper's marked as such, measured columns where measured."""

import pytest

from results.made_costs import cost_row
from results.made_rows import changed, rows
from somamba.errors import InputError
from somamba.report.render.markdown import markdown
from somamba.report.tables.efficiency import check_scores, efficiency_table


def written(*given):
    return markdown(efficiency_table(*given))


def cells(text, method):
    line = next(line for line in text.splitlines() if line.startswith(f"| {method} |"))
    return line.strip("| ").split(" | ")


def test_counts_stand_beside_the_papers():
    text = written([cost_row("so_mamba"), cost_row("unet")])
    assert cells(text, "Method") == [
        "Method", "parameters", "module MACs", "FLOPs in the paper", "all MACs", "scan + FFT",
    ]  # fmt: skip
    assert cells(text, "SO-Mamba") == ["SO-Mamba", "1,811,352", "45.59 G", "45.59 G", "44.10 G", "8.50 G"]
    assert cells(text, "UNet")[3] == "–"
    assert text.index("UNet") < text.index("SO-Mamba")


def test_the_papers_numbers_are_those_of_its_size():
    text = written([cost_row("so_mamba", size=(128, 128))])
    assert "in the paper" not in text
    assert "One 128x128 image" in text


def test_measured_columns_appear_where_something_was_measured():
    measured = cost_row("unet", seconds=3.0, megabytes=20.4, processor="a chip")
    text = written([cost_row("so_mamba", seconds=1.5, megabytes=100.0), measured, cost_row("lmo")])
    assert cells(text, "UNet")[-3:] == ["3.000", "2.00", "20 MB"]
    assert cells(text, "LMO")[-3:] == ["–", "–", "–"]
    timed = written([cost_row("so_mamba", seconds=1.5)])  # where the system does not tell the memory
    assert cells(timed, "SO-Mamba")[-3:] == ["1.500", "1.00", "–"]
    assert "2 threads on a chip" in text


def test_results_add_their_means():
    scored = [*rows("unet", "acdc", 4, psnr=[30.0, 32.0]), *rows("so_mamba", "acdc", 4, psnr=[33.0, 34.0])]
    text = written([cost_row(name, parameters=10) for name in ("so_mamba", "unet", "lmo")], scored)
    assert cells(text, "Method")[1:3] == ["ACDC PSNR ×4", "ACDC SSIM ×4"]
    assert cells(text, "UNet")[1:3] == ["31.00", "0.800"]
    assert cells(text, "LMO")[1:3] == ["–", "–"]


def test_what_cannot_share_a_table_is_refused():
    with pytest.raises(InputError, match="different sizes"):
        efficiency_table([cost_row("so_mamba"), cost_row("unet", size=(128, 128))])
    with pytest.raises(InputError, match="more than once"):
        efficiency_table([cost_row("so_mamba"), cost_row("so_mamba")])
    with pytest.raises(InputError, match="no costs"):
        efficiency_table([])


def test_results_of_a_network_of_another_size_are_left_out_and_named():
    scored = rows("so_mamba", "acdc", 4, psnr=[33.0, 34.0])
    text = written([cost_row("so_mamba", parameters=7)], scored)
    assert "PSNR" not in text
    assert "another number of parameters are left out: SO-Mamba" in text


def test_several_seeds_are_refused_before_anything_is_measured():
    scored = [changed(row, seed=seed, weights=str(seed)) for seed in (0, 1) for row in rows("so_mamba", "acdc", 4)]
    with pytest.raises(InputError, match="several seeds"):
        check_scores(scored)
