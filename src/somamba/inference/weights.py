"""Weights that come with the package, by name: one checkpoint folder each, under ``bundled_weights``."""

from dataclasses import replace
from pathlib import Path

from somamba.errors import InputError
from somamba.inference.checkpoint import has_checkpoint
from somamba.inference.trained import Trained, open_model
from somamba.registry import did_you_mean

FOLDER = Path(__file__).parents[1] / "bundled_weights"
DEFAULT = "brain_raw"
"""The weights that ``somamba reconstruct`` takes by default."""


def bundled_weights(folder: Path = FOLDER) -> dict[str, Path]:
    """The folders of the bundled weights by name."""
    if not folder.is_dir():
        return {}
    return {path.name: path for path in sorted(folder.iterdir()) if has_checkpoint(path)}


def open_weights(source: str = DEFAULT, folder: Path = FOLDER) -> Trained:
    """Open bundled weights by name, a checkpoint by its folder, or a model without weights by name.

    Args:
        source: ``brain_raw``, ``runs/x/best``, ``zero_filled``. Bundled weights come first; a folder of the same name
            is reached by ``./brain_raw``.
        folder: Where the bundled weights lie.

    Raises:
        InputError: nothing has this name, or what has it is damaged.
    """
    bundled = bundled_weights(folder)
    if source in bundled:
        return replace(open_model(str(bundled[source])), source=source)
    if source == DEFAULT and not Path(source).exists():
        raise InputError(
            f"No weights called {source!r} are bundled with this version of somamba ({_known(bundled)}). Give the "
            "folder of a checkpoint, such as --weights runs/x/best, or --weights zero_filled for no network at all."
        )
    try:
        return open_model(source)
    except InputError as error:
        if has_checkpoint(Path(source)):
            raise
        hint = did_you_mean(source, bundled)
        raise InputError(f"{error}{hint} Bundled weights: {_known(bundled)}.") from None


def _known(bundled: dict[str, Path]) -> str:
    return ", ".join(bundled) or "there are none"
