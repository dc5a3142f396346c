"""The command: a table of commands, help that teaches, errors in one line."""

import subprocess
import sys

import pytest

from somamba.cli.main import COMMANDS, main
from somamba.evaluation.cost_rows import read_costs


def run(*arguments, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-m", "somamba", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "200", "OMP_NUM_THREADS": "1"} | environment,
    )


@pytest.mark.parametrize("arguments", [[], ["--help"], ["help"]])
def test_help_names_every_command(arguments, capsys):
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert all(name in text and summary in text for name, summary in COMMANDS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(name, capsys):
    with pytest.raises(SystemExit) as leaving:
        main([name, "--help"])
    assert leaving.value.code == 0
    assert f"somamba {name}" in capsys.readouterr().out


def test_a_misspelt_command_gets_one_line_and_exit_code_2(capsys):
    assert main(["docter"]) == 2
    error = capsys.readouterr().err
    assert (
        error == "somamba: No command is named 'docter'. Did you mean 'doctor'? Known: " + ", ".join(COMMANDS) + ".\n"
    )


def test_a_misspelt_model_is_refused_without_a_traceback(capsys):
    assert main(["cost", "so_manba"]) == 2
    assert "Did you mean 'so_mamba'?" in capsys.readouterr().err


def test_a_wrong_size_is_explained(capsys):
    assert main(["cost", "so_mamba", "--size", "big"]) == 2
    assert "'big' is not a size; write 320 or 256x218" in capsys.readouterr().err


def test_cost_prints_the_columns(capsys):
    assert main(["cost", "so_mamba", "--size", "16x20"]) == 0
    text = capsys.readouterr().out
    assert "1,811,352" in text
    assert "16x20" in text


def test_cost_takes_several_networks_and_writes_rows(tmp_path, capsys):
    assert main(["cost", "sor_router", "zero_filled", "--size", "16", "--csv", str(tmp_path / "c.csv")]) == 0
    text = capsys.readouterr().out
    assert text.index("Zero-Filling") < text.index("+ SOR router")
    assert [row.method for row in read_costs(tmp_path / "c.csv")] == ["sor_router", "zero_filled"]


def test_all_networks_are_measured_unless_told_otherwise(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("somamba.cli.cost.MODELS", ["zero_filled", "unet"])
    words = ["cost", "--all", "--size", "32", "--csv", str(tmp_path / "c.csv")]
    assert main([*words, "--no-measure"]) == 0
    assert "| seconds |" not in capsys.readouterr().out
    assert main([*words, "--repeats", "1"]) == 0
    assert "| seconds | × SO-Mamba | memory |" in capsys.readouterr().out
    rows = read_costs(tmp_path / "c.csv")
    assert all(row.seconds > 0 for row in rows)
    assert "--all --size 32x32 --measure --repeats 1" in rows[0].command


@pytest.mark.parametrize("words", [[], ["so_mamba", "--all"]])
def test_cost_wants_names_or_all(words, capsys):
    assert main(["cost", *words]) == 2
    assert "or ask for --all, not both" in capsys.readouterr().err


def test_models_lists_all_of_them(capsys):
    assert main(["models"]) == 0
    text = capsys.readouterr().out
    assert "so_mamba" in text
    assert "tied_interfaces" in text
    assert "State-Ownership" in text


def test_doctor_says_which_backend_runs():
    text = run("doctor").stdout
    assert "torch" in text
    assert "chosen by 'auto'" in text
    assert "it needs a CUDA device" in text


def test_doctor_says_why_the_kernels_are_not_used():
    text = run("doctor", SOMAMBA_NO_NATIVE="1").stdout
    assert "the environment variable SOMAMBA_NO_NATIVE is set" in text
    chosen = next(line for line in text.splitlines() if "chosen by 'auto'" in line)
    assert "chunked" in chosen
