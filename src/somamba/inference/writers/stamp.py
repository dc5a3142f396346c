"""How a written file says where it comes from: the provenance as JSON, under a key that tells that it is ours."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from somamba.errors import DataError
from somamba.inference.reconstruction import Reconstruction

KEY = "somamba"
START = f'{{"{KEY}": '
"""Every stamp starts so; readers of formats with many comments know it by that."""
RESEARCH = "Research only, not for diagnosis."


def stamp(reconstruction: Reconstruction) -> str:
    """The provenance as one line of ASCII."""
    return json.dumps({KEY: reconstruction.provenance}, allow_nan=False)


def read_stamp(text: str, path: Path) -> dict[str, Any]:
    """The provenance in a stamp."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, Mapping) or not isinstance(values.get(KEY), dict):
        raise foreign(path)
    return values[KEY]


def foreign(path: Path) -> DataError:
    """What is said of a file that carries no provenance."""
    return DataError(f"{path}: it was not written by somamba, or is damaged: it does not say how it came about.")
