"""The header of a safetensors file says how large it is, and lies are noticed before anything is read."""

import json
import os

import pytest
import safetensors.torch
import torch

from somamba.errors import InputError
from somamba.inference.weights.tensor_file import WIDTHS, declared_tensors

TYPES = (torch.float64, torch.int64, torch.float32, torch.int32, torch.float16, torch.bfloat16, torch.int16)
TENSORS = {str(kind): torch.zeros(2, 3).to(kind) for kind in (*TYPES, torch.int8, torch.uint8, torch.bool)}


def written(path, header, size=0):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    os.truncate(path, 8 + len(text) + size)
    return path


def test_what_the_library_writes_is_understood(tmp_path):
    safetensors.torch.save_file(TENSORS | {"none": torch.zeros(0), "one": torch.tensor(1.0)}, tmp_path / "x")
    found = declared_tensors(tmp_path / "x")
    assert {name: found[name].shape for name in ("torch.bfloat16", "none", "one")} == {
        "torch.bfloat16": (2, 3),
        "none": (0,),
        "one": (),
    }
    assert (found["torch.int64"].numbers, found["one"].numbers) == (6, 1)
    assert WIDTHS[found["torch.bool"].dtype] == 1


@pytest.mark.parametrize("size", [7, 9, 1 << 40])
def test_a_file_must_have_the_size_it_declares(tmp_path, size):
    path = written(tmp_path / "x", {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, size)
    with pytest.raises(InputError, match="damaged: it has"):
        declared_tensors(path)


def test_a_file_that_declares_more_than_is_ever_read_is_refused(tmp_path):
    path = written(tmp_path / "x", {"a": {"dtype": "U8", "shape": [1 << 40], "data_offsets": [0, 1 << 40]}}, 1 << 40)
    with pytest.raises(InputError, match="are read"):
        declared_tensors(path)


@pytest.mark.parametrize(
    "header",
    [
        b"x",
        b"[1, 2]",
        b'{"a": 1}',
        b'{"a": {"dtype": "F32"}}',
        b'{"a": {"dtype": "Q1", "shape": [1]}}',
        b'{"a": {"dtype": ["F32"], "shape": [1]}}',
        b'{"a": {"dtype": "F32", "shape": [-1]}}',
        b'{"a": {"dtype": "F32", "shape": [1.5]}}',
        b'{"a": {"dtype": "F32", "shape": "12"}}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_a_header_that_cannot_be_read_is_refused(tmp_path, header):
    with pytest.raises(InputError, match="damaged"):
        declared_tensors(written(tmp_path / "x", header))


@pytest.mark.parametrize("content", [b"", b"\x00" * 8, b"\xff" * 8, b"\x08" + b"\x00" * 7 + b"{}"])
def test_a_file_without_a_header_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match="no safetensors file"):
        declared_tensors(tmp_path / "x")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x")
    with pytest.raises(OSError, match="named pipe"):
        declared_tensors(tmp_path / "x")
