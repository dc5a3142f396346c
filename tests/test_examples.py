"""The examples run as they are, in their small setting, and make the pictures that the site shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONGEST = 80
"""Lines of code of an example: more is a program."""


def run(name, folder):
    """Run an example in a folder of its own; return what it prints."""
    environment = {**os.environ, "SOMAMBA_SMALL": "1", "SOMAMBA_OUTPUT": str(folder / "output"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    written = {path.name for path in (folder / "output").glob("*.png")}
    assert written == set(pictures_of(ROOT / "examples" / f"{name}.py"))
    for picture in written:
        with Image.open(folder / "output" / picture) as opened:
            assert np.asarray(opened.convert("L")).std() > 10
    return done.stdout


def pictures_of(path):
    return re.findall(r'OUTPUT / "(\w+\.png)"', path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_the_site_has_its_pictures(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    code = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(code) <= LONGEST
    assert pictures_of(path)
    for name in pictures_of(path):
        assert (ROOT / "docs" / "examples" / name).stat().st_size < 400_000
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"examples/{path.stem}.md" in site
    assert f"(../../examples/{path.name})" in (ROOT / "docs" / "examples" / "README.md").read_text(encoding="utf-8")


def test_a_raw_scan_becomes_nifti(tmp_path):
    out = run("scan_to_nifti", tmp_path)
    assert "ESPIRiT" in out or "13" in out
    assert nibabel.load(tmp_path / "output" / "image.nii.gz").shape == (224, 224, 1)


def test_a_folder_of_images_is_trained_on_and_beats_the_zero_filled_image(tmp_path):
    out = run("train_on_your_images", tmp_path)
    scores = dict(re.findall(r"([\w-]+): ([\d.]+) dB$", out, re.MULTILINE))
    assert float(scores["trained"]) > float(scores["zero-filled"]) + 1


def test_a_new_regulariser_is_scored_beside_so_mamba(tmp_path):
    out = run("new_regulariser", tmp_path)
    scores = dict(re.findall(r"([\w -]+): ([\d.]+) dB", out))
    scores = {name.strip(): float(value) for name, value in scores.items()}
    assert set(scores) == {"zero-filled", "gated detail", "SO-Mamba"}
    assert min(scores["gated detail"], scores["SO-Mamba"]) > scores["zero-filled"]
    text = (ROOT / "examples" / "new_regulariser.py").read_text(encoding="utf-8")
    (idea,) = re.findall(r"^class GatedDetail.*?(?=^# %%)", text, re.MULTILINE | re.DOTALL)
    assert len(idea.rstrip().splitlines()) <= 40


def test_the_router_keeps_detail_out_of_the_state(tmp_path):
    out = run("what_the_router_keeps", tmp_path)
    shares = {name: float(share) for name, share in re.findall(r"(carrier L|evidence G): +([\d.]+)%", out)}
    assert shares["carrier L"] < shares["evidence G"]
    assert len(re.findall(r"unit \d+: HLeak", out)) == 8


def test_a_folder_becomes_dicom_alone_and_on_a_cluster(tmp_path):
    out = run("folder_to_dicom", tmp_path)
    assert "exit code 2" in out
    assert "notes" in out
    assert out.count("same pixels: True") == 2
