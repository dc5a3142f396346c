"""``somamba table`` from the outside."""

import pytest

from results.made_costs import cost_row
from results.made_leakage import leakage_rows
from results.made_rows import rows
from results.made_sweep import sweep_row
from somamba.cli.main import run_command
from somamba.errors import InputError
from somamba.results.record import write_records


@pytest.fixture
def files(tmp_path):
    write_records(tmp_path / "a.csv", rows("unet", "acdc", 4, psnr=[30.0]))
    write_records(tmp_path / "b.csv", rows("so_mamba", "acdc", 4, psnr=[33.0]))
    return [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]


def test_files_become_one_table(files, capsys):
    run_command("table", files)
    assert "| SO-Mamba | **33.00** ± 0.00 |" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "sign"), [("latex", r"\begin{tabular}"), ("csv", "SO-Mamba,acdc,4,psnr,33.00")])
def test_formats_are_chosen_by_name(files, capsys, name, sign):
    run_command("table", [*files, "--format", name, "--layout", "blocks", "--metrics", "psnr"])
    assert sign in capsys.readouterr().out


def test_the_same_file_twice_is_refused(files):
    with pytest.raises(InputError, match="more than one row"):
        run_command("table", [files[0], files[0]])


@pytest.mark.parametrize(
    ("name", "sign"), [("markdown", "| SO-Mamba † | ✓ | ✓ |"), ("latex", "HLeak"), ("csv", "hleak")]
)
def test_files_of_leakage_become_table_5(files, tmp_path, capsys, name, sign):
    write_records(tmp_path / "c.csv", leakage_rows())
    run_command("table", [*files, str(tmp_path / "c.csv"), "--layout", "leakage", "--format", name])
    assert sign in capsys.readouterr().out


def test_table_5_without_leakage_is_refused(files):
    with pytest.raises(InputError, match="no rows of leakage"):
        run_command("table", [*files, "--layout", "leakage"])


def test_a_file_of_costs_becomes_table_3_with_scores_beside_it(files, tmp_path, capsys):
    write_records(tmp_path / "cost.csv", [cost_row("so_mamba", parameters=10), cost_row("unet", parameters=11)])
    run_command("table", [str(tmp_path / "cost.csv"), *files, "--layout", "efficiency"])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| SO-Mamba | 33.00 | 0.800 | 10 |") for line in lines)
    assert any(line.startswith("| UNet | – | – | 11 |") for line in lines)  # the scores are of another network


def test_table_3_without_costs_is_refused(files):
    with pytest.raises(InputError, match="no costs"):
        run_command("table", [*files, "--layout", "efficiency"])


def test_the_summary_of_a_sweep_becomes_a_table(tmp_path, capsys):
    write_records(tmp_path / "s.csv", [sweep_row("so_mamba"), sweep_row("unet")])
    run_command("table", [str(tmp_path / "s.csv"), "--layout", "sweep"])
    assert "| UNet | 0 | 15 min | 606 | 1.35 |" in capsys.readouterr().out
    run_command("table", [str(tmp_path / "s.csv"), "--layout", "sweep", "--format", "latex"])
    assert r"UNet & 0 & 15 min & 606 & 1.35" in capsys.readouterr().out


def test_a_layout_refuses_files_of_another(files):
    with pytest.raises(InputError, match="the first line must be run,model,seed"):
        run_command("table", [*files, "--layout", "sweep"])
