"""Conditions of the backends: each function says why a backend cannot serve a request, or None."""

import os
import shutil
from collections.abc import Callable

import torch

from somamba.extras import installed
from somamba.native import library
from somamba.scan.choice import Request


def fused_why_not(
    kernel: str, package: str, shared_bytes: Callable[..., int] | None = None
) -> Callable[[Request], str | None]:
    """Return the conditions of an official CUDA kernel.

    Args:
        kernel: The module it lives in.
        package: What is to be installed.
        shared_bytes: Takes the sizes of a request and counts the shared memory of a block; None if it is small.
    """

    def why_not(request: Request) -> str | None:
        if request.keep_states:
            return "the fused kernel does not hand out the state trajectory"
        if request.device != "cuda":
            return f"it needs a CUDA device, the tensors are on {request.device!r}"
        if request.dtype != torch.float32:
            return f"it takes float32, not {request.dtype}"
        if not installed(kernel):
            return f"{package} is not installed (pip install 'somamba[cuda]')"
        if shared_bytes is not None and request.sizes:
            needed, given = shared_bytes(*request.sizes), _shared_memory(request.index)
            if given is not None and needed > given:
                return f"its blocks need {needed / 1024:.0f} KiB of shared memory, this GPU gives {given / 1024:.0f}"
        return None

    return why_not


def native_why_not(request: Request) -> str | None:
    """Return why the compiled C++ kernels cannot serve a request, or None."""
    if request.device != "cpu":
        return f"it runs on the CPU, the tensors are on {request.device!r}"
    if request.dtype != torch.float32:
        return f"it computes in float32, not {request.dtype}"
    return library.why_not()


def triton_why_not(fits: Callable[..., str | None]) -> Callable[[Request], str | None]:
    """Return the conditions of Triton kernels; ``fits`` takes the sizes of a request and says why they do not fit."""

    def why_not(request: Request) -> str | None:
        if request.dtype != torch.float32:
            return f"it computes in float32, not {request.dtype}"
        if not installed("triton"):
            return "triton is not installed; builds of PyTorch for CUDA bring it"
        if request.device != "cuda" and not (request.device == "cpu" and _interpreting()):
            return f"it needs a CUDA device, the tensors are on {request.device!r}"
        return fits(*request.sizes) if request.sizes else None

    return why_not


def compiled_why_not(request: Request) -> str | None:
    """Return why ``torch.compile`` cannot serve a request, or None."""
    if request.device not in ("cpu", "cuda"):
        return f"it runs on the CPU and on CUDA, the tensors are on {request.device!r}"
    if request.device == "cuda" and not installed("triton"):
        return "torch.compile makes Triton kernels on CUDA, and triton is not installed"
    if request.device == "cpu" and (reason := _no_compiler()) is not None:
        return reason
    return None


def always(_request: Request) -> str | None:
    """Return None: there are no conditions."""
    return None


def _shared_memory(index: int | None) -> int | None:
    """Return the bytes of shared memory that a GPU gives to one block; None if there is no GPU, or it does not tell."""
    if not torch.cuda.is_available():
        return None
    return getattr(torch.cuda.get_device_properties(index), "shared_memory_per_block_optin", None)


def _interpreting() -> bool:
    """Tell whether Triton runs its kernels in its interpreter, on the CPU."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def _no_compiler() -> str | None:
    """Return why torch.compile cannot make code for the CPU, or None."""
    if any(shutil.which(name) for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name):
        return None
    return "torch.compile needs a C++ compiler for code that runs on the CPU, and none was found"
