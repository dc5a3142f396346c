"""Optional dependencies: imported where they are used, with the remedy in the refusal."""

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from types import ModuleType

from somamba.errors import MissingExtraError

DEVELOPMENT = "dev"
"""The extra for people who change the package; users never need it."""


def installed(module: str) -> bool:
    """Tell whether an optional module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent of a dotted name is missing
        return False


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    if not installed(module):
        raise MissingExtraError(f"This needs {module!r}, which is not installed. Try: pip install 'somamba[{extra}]'")
    return import_module(module)


def missing_packages() -> dict[str, list[str]]:
    """The extras that users may install, each with those of its packages that are not installed."""
    own = distribution("somamba")
    extras: dict[str, list[str]] = {
        name: [] for name in own.metadata.get_all("Provides-Extra") or () if name != DEVELOPMENT
    }
    for requirement in own.requires or ():
        found = re.match(r"\s*([\w.-]+).*;.*extra\s*==\s*['\"]([\w.-]+)['\"]", requirement)
        if found and found[2] in extras and not _has(found[1]):
            extras[found[2]].append(found[1])
    return extras


def _has(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
