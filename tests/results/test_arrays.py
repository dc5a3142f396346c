"""Small files are read under limits: what is damaged, too large or of another kind is refused before it is unpacked."""

import io
import os
import tracemalloc
import zipfile

import numpy as np
import pytest

from somamba.errors import InputError
from somamba.results import arrays
from somamba.results.arrays import LARGEST_ARRAY, LARGEST_TEXT, Wanted, parse_facts, read_arrays, write_arrays
from somamba.results.setting import Setting

WANTED = {"a": Wanted(np.float32, 2), "more": Wanted(np.float32, 1, optional=True)}


def read(path):
    return read_arrays(path, WANTED, writer="a test")


def header(shape, dtype="<f4", order=False):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": dtype, "fortran_order": order, "shape": shape})
    return content.getvalue()


def archive(path, content, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("a.npy", content)
    return path


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_and_what_is_not_wanted_is_not_touched(tmp_path, order):
    array = np.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), order=order)
    write_arrays(tmp_path / "x.npz", {"a": array, "other": np.zeros(3)})
    (found,) = read(tmp_path / "x.npz").values()
    np.testing.assert_array_equal(found, array)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    side = int((LARGEST_ARRAY / 4) ** 0.5) + 1
    path = archive(tmp_path / "x.npz", header((side, side)) + bytes(1 << 22))
    tracemalloc.start()
    with pytest.raises(InputError, match=r"declares .* bytes, which are too many"):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (header((2, 3)) + bytes(20), "declares 24 bytes and has 20"),
        (header((2, 3), "<f8") + bytes(48), "must be float32 with 2 axes"),
        (header((6,)) + bytes(24), "must be float32 with 2 axes"),
        (header((2, 3), "|O") + bytes(48), "must be float32"),
        (b"\x93NUMPY\x09\x00" + bytes(10), "version"),
        (b"", "damaged"),
        (b"text", "damaged"),
    ],
)
def test_what_is_no_such_array_is_refused(tmp_path, content, words):
    with pytest.raises(InputError, match=words):
        read(archive(tmp_path / "x.npz", content))


def test_other_compressions_pipes_and_foreign_files_are_refused(tmp_path):
    content = header((2, 3)) + bytes(24)
    with pytest.raises(InputError, match="is compressed by method"):
        read(archive(tmp_path / "lzma.npz", content, zipfile.ZIP_LZMA))
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(InputError, match="named pipe"):
        read(tmp_path / "pipe.npz")
    (tmp_path / "text.npz").write_text("text")
    for name in ("text.npz", "absent.npz"):
        with pytest.raises(InputError, match="was not written by a test, or is damaged"):
            read(tmp_path / name)


def test_facts_of_another_kind_are_refused():
    good = '{"dataset": "acdc", "split": "val", "protocol": "raw", "mask": "x", "acceleration": 4}'
    assert parse_facts(good, Setting).acceleration == 4.0
    for wrong in (
        "[]",
        "3",
        "{}",
        good.replace('"val"', "1"),
        good.replace("4}", '"4"}'),
        good.replace("4}", '4, "b": 1}'),
    ):
        with pytest.raises((TypeError, KeyError)):
            parse_facts(wrong, Setting)
    with pytest.raises((RecursionError, ValueError)):
        parse_facts("[" * (LARGEST_TEXT // 4), Setting)


def test_a_number_that_is_no_measurement_is_refused():
    text = '{"dataset": "acdc", "split": "val", "protocol": "raw", "mask": "x", "acceleration": %s}'
    for number in ("9" * 400, str(2**63)):
        with pytest.raises(TypeError, match="64 bits"):
            parse_facts(text % number, Setting)


def test_an_array_that_was_packed_far_too_well_is_not_unpacked(tmp_path):
    side = 6000  # 144 MB of zeros in 140 kB
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as file, file.open("a.npy", "w") as member:
        member.write(header((side, side)))
        for _ in range(side):
            member.write(bytes(4 * side))
    tracemalloc.start()
    with pytest.raises(InputError, match="it would unpack"):
        read(tmp_path / "x.npz")
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


def test_all_arrays_of_a_file_share_one_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "LARGEST_ARRAY", 40)
    write_arrays(tmp_path / "x.npz", {"a": np.ones((2, 3), np.float32), "more": np.ones(4, np.float32)})
    assert read(tmp_path / "x.npz").keys() == {"a", "more"}
    write_arrays(tmp_path / "x.npz", {"a": np.ones((2, 3), np.float32), "more": np.ones(5, np.float32)})
    with pytest.raises(InputError, match="more declares 20 bytes, which are too many"):
        read(tmp_path / "x.npz")
