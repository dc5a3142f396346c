"""The compiled kernels are found, or the reason why not is told; nothing else depends on them."""

import ctypes
from pathlib import Path

import pytest
import torch

from native.machine import INSTRUCTION_SETS, needs_native
from somamba.errors import BackendError
from somamba.native import library


@pytest.fixture
def looked_for_again():
    """The library is looked for once in a process; these tests look again, and so must whatever comes after them."""
    library._load.cache_clear()
    yield
    library._load.cache_clear()


@needs_native
def test_kernels_that_are_built_load():
    assert library.why_not() is None
    assert isinstance(library.library(), ctypes.CDLL)
    assert library.library() is library.library()


@needs_native
def test_the_best_instruction_set_of_the_machine_is_taken(instruction_set):
    automatic = library.instruction_set()
    available = []
    for name in INSTRUCTION_SETS:
        try:
            library.use_instruction_set(name)
        except BackendError:
            continue
        assert library.instruction_set() == name
        available.append(name)
    assert available[0] == automatic
    assert available[-1] == "base"
    instruction_set(automatic)


@needs_native
@pytest.mark.parametrize("name", ["sse9", "", "avx", "avx5122", "BASE"])
def test_an_unknown_instruction_set_is_refused_and_changes_nothing(name):
    before = library.instruction_set()
    with pytest.raises(BackendError, match=f"Instruction set '{name}' is not known, or this machine lacks it"):
        library.use_instruction_set(name)
    assert library.instruction_set() == before


@needs_native
def test_only_float32_on_the_cpu_is_usable():
    single = torch.zeros(3)
    assert library.usable(single, single)
    assert not library.usable(single, single.double())
    assert not library.usable(single, single.bfloat16())
    assert not library.usable(torch.zeros(3, device="meta"))


@pytest.mark.usefixtures("without_native")
def test_nothing_is_usable_without_kernels():
    assert not library.usable(torch.zeros(3))
    with pytest.raises(BackendError, match="cannot be used: a test hides them"):
        library.library()


def test_kernels_use_as_many_threads_as_pytorch(threads):
    threads(3)
    assert library.workers() == 3


@pytest.mark.usefixtures("looked_for_again")
@pytest.mark.parametrize("value", ["1", "yes"])
def test_the_environment_switches_kernels_off(monkeypatch, value):
    monkeypatch.setenv("SOMAMBA_NO_NATIVE", value)
    assert library.why_not() == "the environment variable SOMAMBA_NO_NATIVE is set"


@pytest.mark.usefixtures("looked_for_again")
@needs_native
@pytest.mark.parametrize("value", ["", "0"])
def test_an_empty_or_zero_variable_leaves_them_on(monkeypatch, value):
    monkeypatch.setenv("SOMAMBA_NO_NATIVE", value)
    assert library.why_not() is None


@pytest.mark.usefixtures("looked_for_again")
def test_kernels_that_were_not_built_are_reported(monkeypatch, tmp_path):
    monkeypatch.delenv("SOMAMBA_NO_NATIVE", raising=False)
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    assert "not built when somamba was installed" in library.why_not()


@pytest.mark.usefixtures("looked_for_again")
def test_a_damaged_library_is_reported(monkeypatch, tmp_path):
    monkeypatch.delenv("SOMAMBA_NO_NATIVE", raising=False)
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    (tmp_path / f"kernels{library.EXTENSION_SUFFIXES[0]}").write_bytes(b"not an ELF file")
    assert "the system refuses to load them" in library.why_not()


@pytest.mark.usefixtures("looked_for_again")
@needs_native
def test_a_library_of_another_version_is_reported(monkeypatch):
    monkeypatch.setattr(library, "ABI", library.ABI + 1)
    assert library.why_not() == "they were built from another version of somamba (reinstall)"


@pytest.mark.usefixtures("looked_for_again")
@needs_native
def test_a_library_without_our_functions_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    other = next((Path(torch.__file__).parent / "lib").glob("libc10.*"))
    (tmp_path / f"kernels{library.EXTENSION_SUFFIXES[0]}").symlink_to(other)
    assert library.why_not() is not None
