"""The public surface: what ``import somamba`` promises."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import somamba
from somamba.errors import InputError
from training.tiny import write_data

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def kspace():
    image = np.zeros((32, 24), dtype=np.complex64)
    image[8:20, 6:18] = 1 + np.random.default_rng(0).random((12, 12))
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(image), norm="ortho")).astype(np.complex64)


def test_every_public_name_is_there_and_documented():
    assert set(somamba.__all__) == set(somamba.HOMES)
    for name in somamba.__all__:
        assert getattr(somamba, name).__doc__, name
        assert name in dir(somamba)


def public_functions():
    """The functions and methods that users call, by their public name."""
    named = {name: getattr(somamba, name) for name in somamba.__all__}
    found = {name: value for name, value in named.items() if inspect.isfunction(value)}
    found |= {f"masks.{name}": getattr(somamba.masks, name) for name in MASKS}
    return found | {f"Pretrained.{name}": getattr(somamba.Pretrained, name) for name in ("reconstruct", "adapt")}


MASKS = ("equispaced", "random_columns", "golden_radial", "uniform_radial")
FUNCTIONS = public_functions()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_is_documented_and_typed(name):
    function = FUNCTIONS[name]
    described = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name != "self":
            assert f"\n    {parameter.name}: " in described, parameter.name
            assert parameter.annotation is not inspect.Parameter.empty


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner(verbose=False)
    told = []
    for example in finder.find(FUNCTIONS[name], name, globs={}):
        assert len(example.examples) > 1
        assert runner.run(example, out=told.append).failed == 0, "".join(told)
    assert runner.tries > 1


def test_type_checkers_and_users_see_the_same_names():
    tree = ast.parse((ROOT / "src/somamba/__init__.py").read_text(encoding="utf-8"))
    imported = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported >= set(somamba.__all__)


def test_importing_somamba_imports_neither_torch_nor_numpy():
    code = "import sys, somamba; print(sorted({'torch', 'numpy', 'scipy', 'h5py'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'recontruct'"):
        _ = somamba.recontruct


def test_an_array_a_file_and_an_opened_scan_give_the_same_image(kspace, tmp_path):
    np.save(tmp_path / "scan.npy", kspace)
    made = somamba.reconstruct(kspace, "zero_filled")
    from_file = somamba.reconstruct(tmp_path / "scan.npy", "zero_filled")
    opened = somamba.reconstruct(somamba.open_scan(tmp_path / "scan.npy"), somamba.load("zero_filled"))
    np.testing.assert_array_equal(made.images, from_file.images)
    np.testing.assert_array_equal(made.images, opened.images)


def test_the_result_is_written_where_it_is_wanted(kspace, tmp_path):
    somamba.reconstruct(kspace, "zero_filled", output=tmp_path / "image.npy")
    assert np.load(tmp_path / "image.npy").shape == (1, 32, 24)


def test_lines_can_be_left_out_first(kspace):
    made = somamba.reconstruct(kspace, "zero_filled", acceleration=2)
    assert made.provenance["acceleration"] == pytest.approx(2, rel=0.2)


def test_a_notebook_shows_pictures_and_tables(kspace, tmp_path):
    np.save(tmp_path / "scan.npy", kspace)
    assert somamba.reconstruct(kspace, "zero_filled")._repr_png_().startswith(b"\x89PNG")
    assert "<th>coils</th><td>1</td>" in somamba.open_scan(tmp_path / "scan.npy")._repr_html_()
    assert "<th>model</th><td>zero_filled</td>" in somamba.load("zero_filled")._repr_html_()
    assert "32 x 24" in repr(somamba.reconstruct(kspace, "zero_filled"))
    array = somamba.load("zero_filled").reconstruct(kspace)
    assert array._repr_png_() == array.reconstruction._repr_png_()
    assert (array * 2)._repr_png_() is None


def test_a_recipe_is_trained_and_its_best_weights_are_scored(tmp_path):
    data = write_data(tmp_path)
    network = {"groups": 1, "units": 1, "channels": 16, "d_model": 8, "mixer": {"d_head": 8}}
    recipe = {"network": network, "data": {"size": [16, 16]}, "batch_size": 4, "machine": {"device": "cpu"}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(recipe))
    events = []
    outcome = somamba.train(
        tmp_path / "tiny.yaml",
        tmp_path / "run",
        settings={"data.path": data.path, "data.cache": data.cache, "epochs": 1, "optimiser.warmup_epochs": 0.5},
        on_event=events.append,
    )
    assert outcome.reason == "finished"
    assert events[-1]["event"] == "stop"
    result = somamba.evaluate(str(tmp_path / "run/best"), dataset="acdc", data=data.path, split="val", device="cpu")
    assert all(record.subject.epochs == 1 for record in result.records())
    halved = somamba.evaluate("zero_filled", dataset="acdc", data=data.path, split="val", limit_cases=1, device="cpu")
    assert len(halved.scores) == 1
    assert "<th>method</th><td>zero_filled</td>" in halved._repr_html_()


def test_settings_of_the_data_are_checked_by_name(tmp_path):
    with pytest.raises(InputError, match=r"no setting 'sizes'\. Did you mean 'size'"):
        somamba.evaluate("zero_filled", dataset="acdc", data=tmp_path, settings={"sizes": (32, 32)})


def test_weights_of_another_protocol_are_refused(tmp_path):
    with pytest.raises(InputError, match="trained for protocol 'raw'"):
        somamba.evaluate("src/somamba/bundled_weights/brain_raw", dataset="acdc", data=tmp_path)
