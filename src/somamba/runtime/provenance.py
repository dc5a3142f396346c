"""Which code made a result, and where: versions, the commit and the processor, as far as they can be known."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("somamba", "torch", "numpy", "scikit-image", "safetensors")


def code_record() -> dict[str, str]:
    """Versions of what a result depends on, and the commit of this package's own repository."""
    return {"commit": commit(), "python": platform.python_version()} | {
        name: installed_version(name) for name in PACKAGES
    }


def commit() -> str:
    """The commit this package was imported from, ``+changes`` if files differ, or ``unknown`` outside git."""
    here = Path(__file__).resolve()
    # An installed copy may lie inside another repository; only one that tracks this very file counts.
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is None:
        return "unknown"
    head = _git(here.parent, "rev-parse", "HEAD")
    if head is None:
        return "unknown"
    package = str(here.parents[1])
    return head if _git(here.parent, "status", "--porcelain", "--", package) == "" else f"{head}+changes"


def processor() -> str:
    """The name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def installed_version(package: str) -> str:
    """The version of a package, in words if there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
