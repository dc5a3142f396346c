"""``somamba inspect`` says what a file is, or why not and what to do."""

import numpy as np
import pytest

from raw.made import coil_kspace, columns
from somamba.cli.main import main as somamba
from somamba.cli.main import run_command
from somamba.errors import DataError


@pytest.fixture
def scan(tmp_path):
    np.save(tmp_path / "scan.npy", columns(coil_kspace(width=40), 4, 8))
    return tmp_path / "scan.npy"


def rows(text):
    cells = (line.split("│") for line in text.splitlines() if line.startswith("│"))
    return {cell[1].strip(): cell[2].strip() for cell in cells}


def test_a_scan_is_described(scan, capsys):
    run_command("inspect", [str(scan)])
    out = capsys.readouterr().out
    table = rows(out)
    assert table["format"] == "NumPy array (.npy)"
    assert table["sampling"] == "every 4th column and the centre"
    assert table["calibration"] == "9 lines"
    assert "were taken for (coils, y, x)" in " ".join(out.split())


def test_what_the_user_says_is_believed(scan, capsys):
    run_command("inspect", [str(scan), "--axes", "slices,y,x", "--centred"])
    assert rows(capsys.readouterr().out)["slices"] == "3"


def test_a_bad_file_is_one_line_and_exit_code_2(tmp_path, capsys):
    (tmp_path / "a.mrd").write_bytes(b"yardl")
    assert somamba(["inspect", str(tmp_path / "a.mrd")]) == 2
    assert "MRD version 2" in capsys.readouterr().err


def test_several_files_are_all_looked_at(scan, tmp_path, capsys):
    (tmp_path / "bad.npy").write_bytes(b"no array")
    with pytest.raises(DataError, match=r"1 of 2 files cannot be used\."):
        run_command("inspect", [str(tmp_path / "bad.npy"), str(scan)])
    out = " ".join(capsys.readouterr().out.split())
    assert "cannot be used:" in out
    assert "every 4th column" in out


def test_the_real_brain_is_described(scanner_file, capsys):
    run_command("inspect", [str(scanner_file)])
    out = capsys.readouterr().out
    assert rows(out)["coils"] == "13"
    assert "The zero frequency was the first sample" in " ".join(out.split())
