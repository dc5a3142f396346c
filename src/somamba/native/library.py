"""Find and load the compiled kernels. Without them everything still runs, in plain PyTorch."""

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import torch
from torch import Tensor

from somamba.errors import BackendError
from somamba.native.memory import keep_pages
from somamba.native.structures import Constants, layout

ABI = 10
DISABLE = "SOMAMBA_NO_NATIVE"


def workers() -> int:
    """How many threads a kernel may use: as many as PyTorch."""
    return torch.get_num_threads()


def usable(*tensors: Tensor) -> bool:
    """Tell whether the compiled kernels can take these tensors: on the CPU, in float32, and built."""
    return all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors) and why_not() is None


def traced() -> bool:
    """Tell whether a trace or `torch.compile` is watching: it would not see what the kernels do."""
    return torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None


def why_not() -> str | None:
    """Return the reason why the compiled kernels cannot be used, or None."""
    return _load()[1]


def library() -> ctypes.CDLL:
    """Return the loaded kernels; `why_not` tells beforehand whether they can be had."""
    loaded, reason = _load()
    if loaded is None:
        raise BackendError(f"The compiled kernels cannot be used: {reason}.")
    return loaded


def instruction_set() -> str:
    """Return the instruction set that the kernels run with: avx512bf16, avx512, avx2 or base."""
    return str(library().somamba_instruction_set().decode())


def use_instruction_set(name: str) -> None:
    """Run with another instruction set than the best; for tests and benchmarks."""
    if not library().somamba_use(name.encode()):
        raise BackendError(
            f"Instruction set {name!r} is not known, or this machine lacks it. Try: avx512bf16, avx512, avx2, base."
        )


@cache
def constants() -> Constants:
    """Return what the library says of the sizes it works with."""
    constants = Constants()
    library().somamba_constants(ctypes.byref(constants))
    return constants


@cache
def _load() -> tuple[ctypes.CDLL | None, str | None]:
    if os.environ.get(DISABLE, "0") not in ("", "0"):
        return None, f"the environment variable {DISABLE} is set"
    here = Path(__file__).parent
    # The plainest name comes first: the build for every Python goes before one that was left by an older version.
    names = [f"kernels{suffix}" for suffix in reversed(EXTENSION_SUFFIXES)]
    found = [here / name for name in names if (here / name).exists()]
    if not found:
        return None, "they were not built when somamba was installed (a C++ compiler is needed; reinstall with one)"
    try:
        loaded = ctypes.CDLL(str(found[0]))
    except OSError as error:
        return None, f"the system refuses to load them ({error})"
    if not hasattr(loaded, "somamba_abi") or loaded.somamba_abi() != ABI:
        return None, "they were built from another version of somamba (reinstall)"
    loaded.somamba_instruction_set.restype = ctypes.c_char_p
    loaded.somamba_layout.restype = ctypes.c_char_p
    if different := _differences(loaded.somamba_layout().decode()):
        return None, f"they were built from another version of somamba: {different} differs (reinstall)"
    _share_openmp(loaded)
    keep_pages()
    return loaded, None


def _differences(said: str) -> str:
    """The structures that the library lays out in another way than `structures` has them."""
    theirs = dict(line.split(" ", 1) for line in said.splitlines())
    return ", ".join(sorted({entry.split("=")[0] for entry, _ in theirs.items() ^ layout().items()}))


def _share_openmp(loaded: ctypes.CDLL) -> None:
    """Let the kernels run on PyTorch's own threads; if its OpenMP runtime is not found they start their own."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("lib*omp*")):
        try:
            runtime = ctypes.CDLL(str(path))
            functions = [runtime.GOMP_parallel, runtime.omp_get_thread_num, runtime.omp_get_num_threads]
        except (OSError, AttributeError):
            continue
        loaded.somamba_share_openmp(*(ctypes.cast(function, ctypes.c_void_p) for function in functions))
        return
