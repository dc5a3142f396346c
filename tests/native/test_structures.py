"""The structures are those of the library, and a tensor is described where it lies, its steps in floats."""

import ctypes
import re
from pathlib import Path

import pytest
import torch

from native.machine import needs_native
from somamba.native import library, structures
from somamba.native.structures import STRUCTURES, Strided, layout


def test_a_slice_is_described_where_it_lies():
    room = torch.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    view = Strided.of(room[:, 1:, ::2])
    assert (view.batch, view.token, view.head) == (60, 20, 10)
    numbers = ctypes.cast(view.data, ctypes.POINTER(ctypes.c_float))
    assert numbers[view.batch + view.token + view.head + 1] == room[1, 2, 2, 1]


def test_every_structure_of_the_header_is_mirrored():
    header = Path(structures.__file__).with_name("source") / "kernels.h"
    shared = header.read_text().split('}  // extern "C"')[0]
    assert set(re.findall(r"^struct (\w+) {", shared, re.MULTILINE)) == {kind.__name__ for kind in STRUCTURES}


@needs_native
def test_the_library_says_the_same_of_every_structure():
    said = library.library().somamba_layout().decode()
    assert dict(line.split(" ", 1) for line in said.splitlines()) == layout()
    assert library._differences(said) == ""


@needs_native
@pytest.mark.parametrize("kind", STRUCTURES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("change", ["a field more", "two fields exchanged", "another name"])
def test_a_structure_that_differs_is_refused(kind, change, monkeypatch):
    fields = list(kind._fields_)
    if change == "a field more":
        fields.append(("more", ctypes.c_int64))
    elif change == "two fields exchanged":
        fields[0], fields[1] = fields[1], fields[0]
    else:
        fields[0] = ("other", *fields[0][1:])
    changed = type(kind.__name__, (ctypes.Structure,), {"_fields_": fields})
    others = tuple(changed if other is kind else other for other in STRUCTURES)
    monkeypatch.setattr(structures, "STRUCTURES", others)
    library._load.cache_clear()
    try:
        assert f"built from another version of somamba: {kind.__name__} differs" in str(library.why_not())
    finally:
        library._load.cache_clear()


@needs_native
def test_constants_come_from_the_library():
    constants = library.constants()
    assert (constants.lanes, constants.rows_abreast) == (16, 4)
    assert constants.chunk >= constants.lanes
