"""``somamba reconstruct`` from the outside."""

import logging
import os
import re
import signal
import subprocess
import sys
from io import StringIO

import h5py
import nibabel
import numpy as np
import pytest
from rich.console import Console

from inference.checkpoints import save_tiny
from raw.made import coil_kspace, columns, picture, write_fastmri
from somamba.cli.commands import reconstruct as command
from somamba.cli.main import main as somamba
from somamba.cli.main import run_command
from somamba.cli.output import make_console
from somamba.errors import ConfigError, DataError
from somamba.inference.weights.trained import DEFAULT, open_weights
from somamba.inference.writers.writing import read_provenance

PLAIN = ("--weights", "zero_filled", "--device", "cpu")


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def scan(tmp_path):
    np.save(tmp_path / "scan.npy", coil_kspace(3, 32, 40))
    return tmp_path / "scan.npy"


def rows(text):
    cells = (line.split("│")[1:-1] for line in text.splitlines() if line.startswith("│"))
    return {cell[0].strip(): [one.strip() for one in cell[1:]] for cell in cells}


def remark(text, name):
    """What is told of a scan below the table."""
    return next(line for line in text.splitlines() if line.startswith((f"{name}:", f"{name} ->")))


def test_a_scan_becomes_a_file(scan, tmp_path, capsys):
    assert somamba(["reconstruct", str(scan), "-o", str(tmp_path / "out.h5"), *PLAIN]) == 0
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["reconstruction"].shape == (1, 32, 40)
    captured = capsys.readouterr()
    assert rows(captured.out)["scan.npy"][:2] == ["done", "1"]
    assert remark(captured.out, "scan.npy") == f"scan.npy -> {tmp_path / 'out.h5'}"
    assert "It is fully sampled" in captured.out
    assert "1/1" in captured.err


def test_a_full_scan_is_undersampled_and_compared(scan, tmp_path, capsys):
    weights = str(save_tiny(tmp_path / "weights"))
    options = ["--accelerate", "2", "--mask", "random", "--calibration", "10", "--seed", "3"]
    run_command(
        "reconstruct", [str(scan), "-o", str(tmp_path / "out.npy"), "--weights", weights, "--device", "cpu", *options]
    )
    out = capsys.readouterr().out
    assert out.count("PSNR / SSIM") == 2
    assert out.index("so_mamba") < out.index("zero_filled")
    record = read_provenance(tmp_path / "out.npy")
    assert record["undersampling"] == {"acceleration": 2.0, "mask": "random", "calibration": 10, "seed": 3}
    scores = record["scores"]["so_mamba"]
    assert f"{scores['psnr']:.2f} / {scores['ssim']:.3f}" in rows(out)["scan.npy"]


def test_several_scans_go_on_after_a_bad_one_and_are_skipped_the_next_time(scan, tmp_path, capsys):
    (tmp_path / "bad.h5").write_bytes(b"no HDF5 at all")
    arguments = ["reconstruct", str(tmp_path / "bad.h5"), str(scan), "-o", str(tmp_path / "out"), *PLAIN]
    arguments += ["--format", "npy", "--format", "png"]
    assert somamba(arguments) == 2
    captured = capsys.readouterr()
    table = rows(captured.out)
    assert (table["bad.h5"][0], table["scan.npy"][0]) == ("failed", "done")
    assert "damaged" in remark(captured.out, "bad.h5")
    assert "1 of 2 scans could not be reconstructed" in captured.err
    assert sorted(path.name for path in (tmp_path / "out").glob("scan.*")) == ["scan.npy", "scan.npy.json", "scan.png"]
    assert somamba(arguments) == 2
    assert rows(capsys.readouterr().out)["scan.npy"][0] == "was there"
    assert somamba([*arguments, "--again"]) == 2
    assert rows(capsys.readouterr().out)["scan.npy"][0] == "done"


def test_one_bad_scan_is_one_line(tmp_path, capsys):
    (tmp_path / "a.mrd").write_bytes(b"yardl")
    assert somamba(["reconstruct", str(tmp_path / "a.mrd"), "-o", str(tmp_path / "out.h5"), *PLAIN]) == 2
    captured = capsys.readouterr()
    assert "MRD version 2" in captured.err
    assert "│" not in captured.out


def test_without_a_word_the_bundled_weights_are_used(scan, tmp_path):
    run_command("reconstruct", [str(scan), "-o", str(tmp_path / "out.h5"), "--device", "cpu"])
    assert read_provenance(tmp_path / "out.h5")["weights"] == open_weights(DEFAULT).weights


def test_weights_for_magnitude_images_refuse_measurements_and_take_images(scan, tmp_path, capsys):
    weights = ["--weights", str(save_tiny(tmp_path / "weights", "magnitude")), "--device", "cpu"]
    with pytest.raises(DataError, match="real, positive images"):
        run_command("reconstruct", [str(scan), "-o", str(tmp_path / "out.h5"), *weights])
    run_command("reconstruct", [str(scan), "-o", str(tmp_path / "out.h5"), *weights, "--force"])
    nibabel.Nifti1Image(picture(32, 32).numpy()[..., None], np.eye(4)).to_filename(tmp_path / "image.nii.gz")
    out = tmp_path / "image_out.nii.gz"
    run_command("reconstruct", [str(tmp_path / "image.nii.gz"), "-o", str(out), *weights, "--accelerate", "4"])
    assert "This is a magnitude image, not a measurement" in capsys.readouterr().out
    # ACDC's masks are radial, and these weights say that they have seen no others.
    assert read_provenance(out)["undersampling"]["mask"] == "golden-radial"


def test_shards_share_the_scans(tmp_path, capsys):
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", coil_kspace(1, 16, 16))
    arguments = [str(tmp_path / "*.npy"), "-o", str(tmp_path / "out"), *PLAIN, "--shard"]
    run_command("reconstruct", [*arguments, "2/2"])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.h5"]
    run_command("reconstruct", [*arguments, "1/2"])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.h5", "b.h5", "c.h5"]
    capsys.readouterr()
    run_command("reconstruct", [*arguments, "9/9"])
    assert "nothing to do" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="Shard 0/2 is none"):
        run_command("reconstruct", [*arguments, "0/2"])


@pytest.mark.parametrize("option", ["--mask=random", "--calibration=8", "--seed=1"])
def test_how_to_undersample_without_asking_for_it_is_refused(scan, tmp_path, option):
    with pytest.raises(ConfigError, match="give --acceleration too"):
        run_command("reconstruct", [str(scan), "-o", str(tmp_path / "out.h5"), *PLAIN, option])


def test_a_shard_that_is_not_one_is_explained(scan, tmp_path):
    with pytest.raises(ConfigError, match="write 3/100"):
        run_command("reconstruct", [str(scan), "-o", str(tmp_path / "out.h5"), "--shard", "half"])


def test_a_link_to_another_file_is_refused(tmp_path, capsys):
    write_fastmri(tmp_path / "secret.h5", kspace=coil_kspace()[None])
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["kspace"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "kspace")
    assert somamba(["reconstruct", str(tmp_path / "a.h5"), "-o", str(tmp_path / "out.h5"), *PLAIN]) == 2
    assert "is a link, which could lead to another file" in capsys.readouterr().err
    assert not (tmp_path / "out.h5").exists()


def test_real_files_are_reconstructed_or_refused_with_advice(shared_data, tmp_path, capsys):
    whole = (shared_data / "mrd" / "odd_m127_c3.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "IM0001.dcm").write_bytes(bytes(128) + b"DICM")
    files = [
        shared_data / "mrd" / "odd_m127_c3.h5",
        shared_data / "bart" / "kspu.cfl",
        shared_data / "raw_kspace" / "brain_8coil_undersampled.npy",
        shared_data / "mrd" / "v2" / "phantom_m64_c4_a2_w12_mrdv2.mrd",
        tmp_path / "cut.h5",
        tmp_path / "IM0001.dcm",
    ]
    weights = ["--weights", str(save_tiny(tmp_path / "weights")), "--device", "cpu"]
    with pytest.raises(DataError, match="3 of 6 scans"):
        run_command("reconstruct", [*map(str, files), "-o", str(tmp_path / "out"), *weights])
    out = capsys.readouterr().out
    assert [rows(out)[path.name][0] for path in files[:3]] == ["done"] * 3
    assert "MRD version 2" in remark(out, files[3].name)
    assert "damaged" in remark(out, "cut.h5")
    assert "DICOM image" in remark(out, "IM0001.dcm")


def test_an_undersampled_scan_refuses_acceleration(tmp_path, capsys):
    np.save(tmp_path / "a.npy", columns(coil_kspace(), 2, 8))
    arguments = [str(tmp_path / "a.npy"), "-o", str(tmp_path / "out.h5"), *PLAIN, "--accelerate", "4"]
    assert somamba(["reconstruct", *arguments]) == 2
    assert "undersampled already, by 1.50" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "code", "last"), [(signal.SIGINT, 130, "somamba: interrupted"), (signal.SIGTERM, -signal.SIGTERM, "")]
)
def test_an_interrupted_adaptation_leaves_what_was_there_and_nothing_else(number, code, last, scan, tmp_path):
    """A process of its own, in the middle of steps that have no end in sight.

    Shells start background jobs, such as these tests may be, with SIGINT ignored, and a child would inherit that.
    """
    options = ["--acceleration", "2", "--calibration", "10", "--device", "cpu"]
    options += ["--weights", str(save_tiny(tmp_path / "weights")), "-o", str(tmp_path / "out" / "image.nii.gz")]
    assert somamba(["reconstruct", str(scan), *options]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    adapting = [*options, "--adapt", "100000", "--save-adapted", str(tmp_path / "out" / "adapted"), "--again"]
    command = [sys.executable, "-m", "somamba", "reconstruct", str(scan), *adapting]
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    finally:
        signal.signal(signal.SIGINT, ours)
    with process:
        seen = next(line for line in process.stderr if "step 10 of at most 100000" in line)
        process.send_signal(number)
        rest = process.stderr.read()
    assert seen
    assert process.returncode == code
    assert "Traceback" not in rest
    assert (rest.splitlines() or [""])[-1].startswith(last)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.fixture
def terminal(monkeypatch):
    """A terminal in the place of standard error."""
    shown = Console(file=StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(command, "make_console", lambda *, stderr=False: shown if stderr else make_console())
    return shown


@pytest.fixture
def _log():
    """The level of the log of adaptations, which a command sets, is put back."""
    logger = logging.getLogger("somamba.inference.adaptation")
    level = logger.level
    logger.setLevel(logging.NOTSET)
    yield
    logger.setLevel(level)


@pytest.mark.usefixtures("_log")
@pytest.mark.parametrize("adapting", [True, False])
def test_on_a_terminal_an_adaptation_is_a_task_and_one_line(adapting, terminal, scan, tmp_path, caplog):
    options = [str(scan), "-o", str(tmp_path / "out.npy"), "--weights", str(save_tiny(tmp_path / "weights"))]
    options += ["--device", "cpu", "--adapt", "2"]
    options += ["--acceleration", "2", "--calibration", "10"] if adapting else []
    run_command("reconstruct", options)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.file.getvalue())
    outcome = read_provenance(tmp_path / "out.npy")["adaptation"]["outcome"]
    assert text.count(f"scan.npy: {outcome}\n") == 1
    assert ("adapting, held-out residual" in text) is adapting
    assert caplog.messages == []


@pytest.mark.usefixtures("_log")
def test_without_a_terminal_an_adaptation_is_logged_line_by_line(scan, tmp_path, caplog):
    options = [str(scan), "-o", str(tmp_path / "out.npy"), "--weights", str(save_tiny(tmp_path / "weights"))]
    run_command("reconstruct", [*options, "--device", "cpu", "--adapt", "2", "--acceleration", "2"])
    assert caplog.messages[0].startswith("step 0 of at most 2: held-out residual")
    assert caplog.messages[-1] == read_provenance(tmp_path / "out.npy")["adaptation"]["outcome"]


def read_terminal(descriptor):
    """What was written to a terminal; nothing when its other end was closed, which Linux says by an error."""
    try:
        return os.read(descriptor, 4096).decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_an_adaptation_that_is_interrupted_on_a_terminal_leaves_nothing(number, code, scan, tmp_path):
    """A process of its own, whose standard error is a terminal."""
    ours, theirs = os.openpty()
    options = ["--acceleration", "2", "--calibration", "10", "--device", "cpu", "--adapt", "100000"]
    options += ["--weights", str(save_tiny(tmp_path / "weights")), "-o", str(tmp_path / "out" / "image.nii.gz")]
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        arguments = [sys.executable, "-m", "somamba", "reconstruct", str(scan), *options]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        process = subprocess.Popen(arguments, stderr=theirs, stdout=subprocess.DEVNULL, env=environment)
    finally:
        signal.signal(signal.SIGINT, handler)
        os.close(theirs)
    text, sent = "", False
    with process:
        while part := read_terminal(ours):
            text += part
            if not sent and "held-out residual" in text:
                process.send_signal(number)
                sent = True
    os.close(ours)
    assert process.returncode == code
    assert "Traceback" not in text
    assert "INFO" not in text
    assert "adapting, held-out residual" in text
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
