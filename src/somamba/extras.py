"""Optional dependencies: imported where they are used, with the remedy in the refusal."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from somamba.errors import MissingExtraError


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
