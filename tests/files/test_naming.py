"""The name of an output tells its format, and the formats' names and their writers are the same."""

import subprocess
import sys

import pytest

from somamba.files.naming import OUTPUT_ENDINGS, format_of, output_name, stem
from somamba.inference.writers.writing import FORMATS


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, f"a{ending}") for name, endings in OUTPUT_ENDINGS.items() for ending in endings if ending],
)
def test_the_ending_tells_the_format(name, place, tmp_path):
    assert format_of(tmp_path / place) == name


@pytest.mark.parametrize("name", list(OUTPUT_ENDINGS))
def test_outputs_are_named_after_their_input(name, tmp_path):
    assert format_of(tmp_path / output_name("scan.v2", name), name) == name
    assert output_name("scan.v2", name).startswith("scan.v2")


@pytest.mark.parametrize(("name", "short"), [("a.nii.gz", "a"), ("a.b.h5", "a.b"), ("raw", "raw")])
def test_stems_lose_the_whole_ending(name, short):
    assert stem(name) == short


def test_every_format_has_endings_and_naming_imports_no_format():
    assert list(OUTPUT_ENDINGS) == list(FORMATS)
    code = "import sys, somamba.files.naming; assert not {'torch', 'nibabel', 'h5py'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
