"""YAML read within bounds: a small file must not become a large object, nor a deep one, nor name other files."""

from typing import Any

import yaml  # type: ignore[import-untyped]

MOST_BYTES = 1 << 18
"""Largest YAML file that is read; the longest recipe has a few thousand bytes."""
MOST_VALUES = 10_000
"""Most values that a file may hold, those repeated by aliases counted every time."""
DEEPEST = 32
"""Deepest nesting of tables and lists."""


def load_yaml(content: bytes) -> Any:
    """The value of a YAML document: tables, lists, texts, numbers.

    Raises:
        yaml.YAMLError: it is no YAML, or larger or deeper than the bounds above; merge keys (``<<``) are refused.
    """
    if len(content) > MOST_BYTES:
        raise yaml.YAMLError(f"It has {len(content):,} bytes; at most {MOST_BYTES:,} are read.")
    try:
        loader = _BoundedLoader(content)
        try:
            value = loader.get_single_data()
        finally:
            loader.dispose()
    except (ValueError, OverflowError, RecursionError) as error:
        raise yaml.YAMLError(f"It holds a value that cannot be read: {error}") from None
    _count(value, depth=0, left=MOST_VALUES)
    return value


class _BoundedLoader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, which gives up as soon as a document is too deep or too long."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.depth = self.nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.depth, self.nodes = self.depth + 1, self.nodes + 1
        if self.depth > DEEPEST:
            raise yaml.YAMLError(f"Its tables are nested more than {DEEPEST} deep.")
        if self.nodes > 2 * MOST_VALUES:
            raise yaml.YAMLError(f"It holds more than {MOST_VALUES:,} values.")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def flatten_mapping(self, node: Any) -> None:
        """Refuse merge keys: nested ones multiply."""
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.YAMLError("Merge keys (<<) are not read; write the fields out.")


def _count(value: Any, *, depth: int, left: int) -> int:
    """How many of the values that are left remain after this one; an alias is followed every time it occurs."""
    if left <= 0 or depth > DEEPEST:
        raise yaml.YAMLError(f"It holds more than {MOST_VALUES:,} values, or its aliases repeat themselves.")
    parts: list[Any] = []
    if isinstance(value, dict):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set):
        parts = list(value)
    left -= 1
    for part in parts:
        left = _count(part, depth=depth + 1, left=left)
    return left
