"""The command: a table of commands, help that teaches, errors in one line."""

import json
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest

from raw.made import coil_kspace
from somamba.cli.main import COMMANDS, main
from somamba.models.zoo import MODELS
from somamba.results.cost import CostRecord
from somamba.results.record import read_records


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


def test_a_misspelt_option_of_the_program_gets_the_nearest(capsys):
    assert main(["--versoin"]) == 2
    assert capsys.readouterr().err == (
        "somamba: There is no option --versoin. Did you mean '--version'? See: somamba --help\n"
    )


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
    assert [row.method for row in read_records(CostRecord, tmp_path / "c.csv")] == ["sor_router", "zero_filled"]


def test_all_networks_are_measured_unless_told_otherwise(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("somamba.cli.commands.cost.MODELS", ["zero_filled", "unet"])
    words = ["cost", "--all", "--size", "32", "--csv", str(tmp_path / "c.csv")]
    assert main([*words, "--no-measure"]) == 0
    assert "| seconds |" not in capsys.readouterr().out
    assert main([*words, "--repeats", "1"]) == 0
    assert "| seconds | × SO-Mamba | memory |" in capsys.readouterr().out
    rows = read_records(CostRecord, tmp_path / "c.csv")
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


def test_models_and_costs_fit_eighty_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(
        "somamba.cli.commands.models.MODELS", {name: MODELS[name] for name in ("unet", "so_mamba_adaptive")}
    )
    assert main(["models", "--cost", "--size", "16"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if "parameters" in line)
    assert all(word in head for word in ("name", "parameters", "modules", "all", "scan", "FFT"))
    row = next(line for line in lines if "so_mamba_adaptive" in line)
    assert row.count("│") == 7
    assert max(map(len, lines[: lines.index(row) + 2])) <= 80


def test_the_version_is_told(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"somamba {version('somamba')}\n"


def test_json_can_be_read_by_programs(tmp_path, capsys):
    np.save(tmp_path / "scan.npy", coil_kspace(2, 16, 16))
    (tmp_path / "bad.npy").write_text("no array")
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machine"]["torch"]
    assert {row["backend"] for row in found["scans"][0]["backends"]} >= {"native", "chunked", "reference"}
    assert main(["cost", "zero_filled", "--size", "16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["method"] == "zero_filled"
    assert main(["inspect", str(tmp_path / "scan.npy"), str(tmp_path / "bad.npy"), "--json"]) == 2
    good, bad = json.loads(capsys.readouterr().out)
    assert (good["usable"], bad["usable"]) == (True, False)
    assert good["facts"]
    assert "bad.npy" in bad["reason"]


def test_an_error_of_the_system_is_one_line(tmp_path, capsys):
    (tmp_path / "locked").mkdir()
    assert main(["table", str(tmp_path / "locked")]) == 2
    assert capsys.readouterr().err.startswith("somamba: ")


def test_exit_codes_are_documented(capsys):
    main([])
    text = capsys.readouterr().out
    assert all(f"\n  {code} " in text for code in (0, 1, 2, 75, 130))


def test_doctor_says_which_backend_runs():
    text = run("doctor").stdout
    assert "torch" in text
    assert "chosen by 'auto'" in text
    assert "it needs a CUDA device" in text
    assert all(f"extra '{name}'" in text for name in ("cluster", "cuda", "dicom", "report"))


def test_doctor_says_why_the_kernels_are_not_used():
    text = run("doctor", SOMAMBA_NO_NATIVE="1").stdout
    assert "the environment variable SOMAMBA_NO_NATIVE is set" in text
    chosen = next(line for line in text.splitlines() if "chosen by 'auto'" in line)
    assert "chunked" in chosen
