"""The files of a gallery: what is written is read back, and what is damaged or foreign is refused."""

import json
import subprocess
import sys

import numpy as np
import pytest

from results import made_gallery
from somamba.errors import InputError
from somamba.results.gallery import is_gallery, read_gallery, safe_name, write_method


@pytest.fixture
def folder(tmp_path):
    made_gallery.write_gallery(tmp_path)
    return tmp_path


def test_what_was_written_is_read_back(folder):
    made = made_gallery.measurement(seed=0)
    cases = read_gallery(folder)
    assert [case.facts.case for case in cases] == ["patient001", "patient<b>2"]
    assert cases[0].facts == made_gallery.measurement_facts(made)
    assert [method.facts.label for method in cases[0].methods] == ["so_mamba", "unet"]
    assert cases[0].methods[0].facts == made_gallery.method_facts(made)
    for name, array in cases[0].measurement()._asdict().items():
        np.testing.assert_array_equal(array, getattr(made, name))
        assert array.dtype == getattr(made, name).dtype
    np.testing.assert_allclose(cases[0].methods[1].reconstruction(), made.target * 0.91, rtol=1e-6)


def test_reading_needs_no_torch(folder):
    code = f"""
import sys
from pathlib import Path
from somamba.results.gallery import read_gallery
for case in read_gallery(Path({str(folder)!r})):
    case.measurement(), [method.reconstruction() for method in case.methods]
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_folder_without_cases_is_no_gallery(tmp_path):
    assert not is_gallery(tmp_path / "nowhere")
    with pytest.raises(InputError, match="not a gallery"):
        read_gallery(tmp_path)


@pytest.mark.parametrize("name", ["../../x", "a/b", ".hidden", "", "measurement", "x" * 300, "späte Phase", "a\x00b"])
def test_a_name_that_is_no_file_name_gets_one_of_its_own(name):
    safe = safe_name(name)
    assert safe != name
    assert len(safe) < 100
    assert safe.isascii()
    assert not set(safe) & set("/\\\x00 ")
    assert not safe.startswith(".")
    assert safe != safe_name(name + "_")


def test_a_plain_name_stays():
    assert safe_name("patient001_ED") == "patient001_ED"


def test_a_label_with_a_path_in_it_stays_in_the_folder(tmp_path):
    made = made_gallery.measurement()
    made_gallery.write_gallery(tmp_path / "gallery", cases=("a",), labels=("../../evil",))
    assert [path.name for path in tmp_path.iterdir()] == ["gallery"]
    assert [path.name for path in (tmp_path / "gallery").iterdir()] == ["a"]
    assert read_gallery(tmp_path / "gallery")[0].methods[0].facts.label == "../../evil"
    assert made.target.shape == read_gallery(tmp_path / "gallery")[0].methods[0].reconstruction().shape


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"dataset": 1}', b"\xff"])
def test_a_damaged_description_is_refused(folder, content):
    (folder / "patient001" / "measurement.json").write_bytes(content)
    with pytest.raises(InputError, match=r"measurement\.json was not written by"):
        read_gallery(folder)


@pytest.mark.parametrize(
    ("field", "value"), [("psnr", "high"), ("psnr", [1, "x"]), ("steps", "10"), ("recipe", []), ("epochs", None)]
)
def test_a_fact_of_another_kind_is_refused(folder, field, value):
    path = folder / "patient001" / "so_mamba.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: value}))
    with pytest.raises(InputError, match=r"so_mamba\.json was not written by"):
        read_gallery(folder)


def test_an_unknown_fact_is_refused(folder):
    path = folder / "patient001" / "so_mamba.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mood": "good"}))
    with pytest.raises(InputError, match="mood"):
        read_gallery(folder)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY"])
def test_damaged_images_are_refused(folder, content):
    (folder / "patient001" / "measurement.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"measurement\.npz was not written by"):
        read_gallery(folder)[0].measurement()


def test_pickled_objects_are_refused(folder):
    np.savez(folder / "patient001" / "so_mamba.npz", reconstruction=np.array([{"a": 1}]))
    with pytest.raises(InputError, match=r"so_mamba\.npz was not written by"):
        read_gallery(folder)[0].methods[0].reconstruction()


def test_images_of_another_kind_or_number_are_refused(folder):
    path = folder / "patient001" / "so_mamba.npz"
    for array, message in (
        (np.zeros((3, 4, 4), np.float32), "must be complex64"),
        (np.zeros((4, 4), np.complex64), "3 axes"),
        (np.zeros((2, 4, 4), np.complex64), "2 slices and its JSON file 3"),
    ):
        np.savez(path, reconstruction=array)
        with pytest.raises(InputError, match=message):
            read_gallery(folder)[0].methods[0].reconstruction()


def test_images_of_another_shape_than_the_measurement_are_refused(folder):
    case = read_gallery(folder)[0]
    np.savez(folder / "patient001" / "so_mamba.npz", reconstruction=np.zeros((3, 4, 4), np.complex64))
    with pytest.raises(InputError, match=r"is \(3, 4, 4\) and its measurement \(3, 16, 20\)"):
        case.methods[0].reconstruction(case.measurement())


def test_a_method_of_another_measurement_is_refused(folder):
    other = made_gallery.measurement(seed=5)
    write_method(folder / "patient001", other.zero_filled, made_gallery.method_facts(other))
    with pytest.raises(InputError, match="another measurement"):
        read_gallery(folder)


def test_the_digest_sees_masks_slices_and_targets():
    made = made_gallery.measurement()
    for name in ("target", "mask", "slices"):
        array = getattr(made, name).copy()
        array.flat[-1] = 1 - array.flat[-1] if name != "mask" else not array.flat[-1]
        assert made._replace(**{name: array}).digest() != made.digest()


def test_numbers_that_are_not_finite_are_not_kept():
    with pytest.raises(InputError, match=r"psnr is .* not finite"):
        made_gallery.method_facts(made_gallery.measurement(), psnr=(1.0, float("inf"), 2.0))
