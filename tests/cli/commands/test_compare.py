"""``somamba compare`` from the outside."""

import subprocess
import sys

import pytest

from results.made_rows import rows
from somamba.cli.main import run_command
from somamba.results.record import write_records


@pytest.fixture
def files(tmp_path):
    write_records(tmp_path / "a.csv", rows("so_mamba", "acdc", 4, psnr=[33.0, 34.0, 35.0]))
    write_records(tmp_path / "b.csv", rows("unet", "acdc", 4, psnr=[30.0, 30.0, 30.0]))
    return [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]


def test_two_files_become_a_line(files, capsys):
    run_command("compare", [*files, "--metric", "psnr", "nmse"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| SO-Mamba − UNet | PSNR | 3 | +4.00 | [+3.00, +5.00] | 0.25 |")
    assert lines[3].startswith("| SO-Mamba − UNet | NMSE | 3 | +0.0000 |")


def test_no_torch_is_imported(files):
    call = f"from somamba.cli.main import run_command; run_command('compare', {files})"
    code = f"import sys; {call}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
