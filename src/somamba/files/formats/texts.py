"""The texts of a file that the reading process passes on: few, short, and chosen by name."""

from typing import Any

import numpy as np

from somamba.files.limits import TEXT_CHARACTERS, RefusedError


class Texts:
    """Texts by name, together no longer than `TEXT_CHARACTERS`."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self._left = TEXT_CHARACTERS

    def keep(self, name: str, value: Any) -> None:
        """Keep what an HDF5 attribute or scalar holds, however the string was stored."""
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        if isinstance(value, bytes):
            value = value.decode()
        if not isinstance(value, str | int | float | np.integer | np.floating):
            raise RefusedError(f"{name!r} should be a text, not {type(value).__name__}")
        text = str(value)
        if len(text) > self._left:
            raise RefusedError(f"its texts are longer than {TEXT_CHARACTERS:,} characters")
        self._left -= len(text)
        self.kept[name] = text
