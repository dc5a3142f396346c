"""Nothing in the package can unpickle, or run code it was handed: every file is read as data.

The source is parsed, not imported, so code behind an `if` counts too. What is looked for is proven on small examples.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import somamba

MODULES = {
    *("pickle", "_pickle", "cPickle", "pickletools", "copyreg", "dill", "cloudpickle", "joblib", "shelve", "marshal"),
    *("klepto", "hickle", "jsonpickle", "torch.hub", "torch.package"),
}
LOADERS = {
    *("torch.load", "torch.save", "torch.jit.load", "torch.jit.save", "torch.export.load", "torch.export.save"),
    *("yaml.load", "yaml.load_all", "yaml.full_load", "yaml.unsafe_load", "yaml.unsafe_load_all"),
    *("h5py.special_dtype", "h5py.ref_dtype", "h5py.regionref_dtype", "h5py.Reference"),
    *("eval", "exec", "compile", "__import__"),
}
NUMPY = {"numpy.load", "numpy.save", "numpy.savez", "numpy.savez_compressed"}
"""Allowed where they say ``allow_pickle=False``."""
NAMES = {"read_pickle", "to_pickle", "Unpickler", "Pickler", "read_array", "write_array"}
OBJECT_COLLECTIVES = {"all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list"}
IMPORTERS = {"importlib.import_module", "somamba.extras.require", "import_module", "require"}


def offences(source: str) -> Iterator[str]:
    """What in a piece of source could unpickle."""
    tree = ast.parse(source)
    known = _aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (name for name in _imported(node) if _banned_module(name) or name in LOADERS)
        elif isinstance(node, ast.Call):
            yield from _calls(node, known)
        elif isinstance(node, ast.Attribute | ast.Name) and _full_name(node, known) in LOADERS:
            yield _full_name(node, known)
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            yield f"allow_pickle={ast.unparse(node.value)}"
        elif isinstance(node, ast.keyword) and node.arg == "weights_only":
            yield "weights_only"


def _calls(node: ast.Call, known: dict[str, str]) -> Iterator[str]:
    name = _full_name(node.func, known)
    if name in NUMPY and not any(keyword.arg == "allow_pickle" for keyword in node.keywords):
        yield f"{name} without allow_pickle=False"
    if name.split(".")[-1] in NAMES | OBJECT_COLLECTIVES:
        yield name
    if name in IMPORTERS and node.args and isinstance(node.args[0], ast.Constant):
        yield from (text for text in [str(node.args[0].value)] if _banned_module(text))


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]


def _aliases(tree: ast.AST) -> dict[str, str]:
    """What imported names stand for: ``np`` for numpy, ``load`` for torch.load."""
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return known


def _full_name(node: ast.AST, known: dict[str, str]) -> str:
    parts = ast.unparse(node).split(".")
    return ".".join([known.get(parts[0], parts[0]), *parts[1:]])


def _banned_module(name: str) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:depth]) in MODULES for depth in range(1, len(parts) + 1))


def test_nothing_in_the_package_can_unpickle():
    sources = sorted(Path(somamba.__file__).parent.rglob("*.py"))
    found = {path: list(offences(path.read_text(encoding="utf-8"))) for path in sources}
    assert len(found) > 100
    assert {path: what for path, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import os, pickle as p",
        "from pickle import loads",
        "from cloudpickle.cloudpickle import dumps",
        "import torch.hub",
        "from torch import hub",
        "if False:\n    import shelve",
        "def f():\n    from joblib import load",
        "from importlib import import_module\nimport_module('pickle')",
        "__import__('pickle')",
        "import torch\ntorch.load('x')",
        "import torch as t\nt.load('x', weights_only=True)",
        "from torch import load\nload('x')",
        "from torch import load as read\nread('x')",
        "import torch\nread = torch.load",
        "import numpy as np\nnp.load('x')",
        "import numpy\nnumpy.load('x', allow_pickle=True)",
        "import numpy as np\nnp.load('x', allow_pickle=flag)",
        "from numpy import load\nload('x')",
        "import numpy as np\nnp.save('x', values)",
        "import numpy as np\nnp.lib.format.read_array(file)",
        "import yaml\nyaml.load(text, Loader=yaml.Loader)",
        "import h5py\nh5py.special_dtype(ref=h5py.Reference)",
        "import pandas\npandas.read_pickle('x')",
        "import torch.distributed as dist\ndist.all_gather_object(a, b)",
        "eval(text)",
    ],
)
def test_every_way_to_unpickle_is_found(source):
    assert list(offences(source))


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.load('x', mmap_mode='r', allow_pickle=False)",
        "import safetensors.torch\nsafetensors.torch.load(data)",
        "import yaml\nyaml.safe_load(text)",
        "model.eval()",
        "import re\nre.compile('x')",
        "import json\njson.load(file)",
    ],
)
def test_reading_data_is_no_offence(source):
    assert list(offences(source)) == []
