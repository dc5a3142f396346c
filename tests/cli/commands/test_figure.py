"""``somamba figure`` and ``somamba streams`` from the outside."""

import subprocess
import sys

import pytest

from inference.checkpoints import save_tiny
from results.made_gallery import write_gallery
from results.made_leakage import leakage_rows
from results.made_streams import recorded
from somamba.cli.main import main
from somamba.results.record import write_records
from somamba.results.streams import write_streams

pytest.importorskip("matplotlib")


@pytest.fixture
def files(tmp_path):
    write_gallery(tmp_path / "gallery", size=(20, 20))
    write_records(tmp_path / "leakage.csv", leakage_rows())
    write_streams(tmp_path / "streams.npz", recorded())
    save_tiny(tmp_path / "checkpoint", model="residency_token")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["reconstructions", "gallery"],
        ["reconstructions", "gallery", "--case", "patient<b>2", "--slice", "3", "--box", "2", "3", "8"],
        ["leakage", "leakage.csv"],
        ["spectra", "streams.npz"],
        ["streams", "streams.npz", "--units", "1", "3"],
        ["gates", "checkpoint", "checkpoint"],
    ],
    ids=" ".join,
)
def test_every_kind_is_drawn(files, words, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert main(["figure", *words, "-o", "x.png"]) == 0
    assert (files / "x.png").read_bytes().startswith(b"\x89PNG")
    assert "wrote x.png" in capsys.readouterr().out


def test_figures_need_no_torch(files):
    code = (
        "import sys; from somamba.cli.main import main; status = main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    )
    words = ["figure", "reconstructions", str(files / "gallery"), "-o", str(files / "x.png")]
    assert subprocess.run([sys.executable, "-c", code, *words], check=False).returncode == 0
    assert (files / "x.png").exists()


def test_a_case_that_was_not_kept_is_refused(files, capsys):
    words = ["figure", "reconstructions", str(files / "gallery"), "--case", "nobody", "-o", str(files / "x.png")]
    assert main(words) == 2
    assert "keeps no case 'nobody'; it keeps patient001, patient<b>2" in capsys.readouterr().err


def test_a_file_of_another_kind_is_refused(files, capsys):
    assert main(["figure", "streams", str(files / "leakage.csv"), "-o", str(files / "x.png")]) == 2
    assert "not written by somamba streams" in capsys.readouterr().err
