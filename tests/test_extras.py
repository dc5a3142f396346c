"""Optional modules are found without being imported, and missing ones come with the remedy."""

import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.version import Version

from somamba.errors import MissingExtraError, SomambaError
from somamba.extras import installed, missing_packages, require


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder on the import path; modules written there are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_module_that_is_there_is_installed_and_not_imported(shelf):
    (shelf / "loud_extra.py").write_text("raise RuntimeError('imported')\n")
    assert installed("loud_extra")
    assert "loud_extra" not in sys.modules


def test_a_module_that_is_not_there_is_not_installed():
    assert not installed("no_such_extra")


def test_a_part_of_a_missing_package_is_not_installed():
    assert not installed("no_such_extra.ops.kernel")


def test_a_part_that_its_package_lacks_is_not_installed(shelf):
    (shelf / "old_extra").mkdir()
    (shelf / "old_extra" / "__init__.py").touch()
    assert installed("old_extra")
    assert not installed("old_extra.ops.kernel")


def test_require_hands_out_the_module(shelf):
    (shelf / "good_extra.py").write_text("answer = 42\n")
    module = require("good_extra", extra="good")
    assert isinstance(module, ModuleType)
    assert module.answer == 42


def test_require_hands_out_a_part_of_a_package(shelf):
    (shelf / "deep_extra").mkdir()
    (shelf / "deep_extra" / "__init__.py").touch()
    (shelf / "deep_extra" / "part.py").write_text("answer = 43\n")
    assert require("deep_extra.part", extra="deep").answer == 43


@pytest.mark.parametrize("module", ["no_such_extra", "no_such_extra.ops.kernel"])
def test_require_names_the_module_and_the_remedy(module):
    with pytest.raises(MissingExtraError) as caught:
        require(module, extra="cuda")
    assert str(caught.value) == f"This needs '{module}', which is not installed. Try: pip install 'somamba[cuda]'"
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, SomambaError)


def test_a_module_that_breaks_on_import_is_not_called_missing(shelf):
    (shelf / "broken_extra.py").write_text("import no_such_dependency\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        require("broken_extra", extra="broken")
    assert not isinstance(caught.value, MissingExtraError)


def test_every_extra_of_the_package_is_told_with_what_it_lacks(monkeypatch):
    declared = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = set(declared["optional-dependencies"]) - {"dev"}
    assert set(missing_packages()) == extras
    monkeypatch.setattr("somamba.extras._has", lambda _package: False)
    assert missing_packages()["report"] == ["matplotlib"]
    assert all(missing_packages().values())


def test_the_constraints_for_the_smallest_versions_are_the_declared_ones():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", text) for text in project["dependencies"]]
    declared += [re.fullmatch(r"([\w-]+)>=([\d.]+)", text) for text in (*extras["dicom"], *extras["report"])]
    lines = (root / "constraints-smallest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {one[1]: Version(one[2]) for one in declared} == {name: Version(text) for name, text in pinned.items()}
