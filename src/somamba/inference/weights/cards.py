"""The card of released weights: README.md, with a head in YAML that model hubs read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from somamba.bounded_yaml import load_yaml
from somamba.errors import InputError
from somamba.inference.weights.checkpoint import CARD
from somamba.regular_files import read_regular

MOST_BYTES = 1 << 20
HEAD = re.compile(r"---\n(.*?\n)---\n+(.*)", re.DOTALL)
FIELDS = ("license", "library_name", "tags", "datasets", "metrics", "model-index")
"""Fields that a hub expects in the head of a card, as it spells them."""
PICTURE = re.compile(r"!\[[^\]]*\]\(([\w.-]+\.png)\)")


@dataclass(frozen=True)
class Card:
    """What a card says, for programs and for people."""

    head: Mapping[str, Any]
    text: str

    @property
    def licence(self) -> str:
        """The licence of the weights; empty if the head does not name it."""
        return str(self.head.get("license", ""))

    @property
    def pictures(self) -> list[str]:
        """The names of the pictures that lie beside the card and are shown in it."""
        return PICTURE.findall(self.text)


def read_card(folder: Path) -> Card | None:
    """Read the card in a folder of weights; None if there is none.

    Raises:
        InputError: the head is not YAML, or not a table.
    """
    path = folder / CARD
    if not path.exists():
        return None
    try:
        text = read_regular(path, most=MOST_BYTES).decode(errors="replace").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if not (found := HEAD.fullmatch(text)):
        return Card({}, text)
    try:
        head = load_yaml(found[1].encode())
    except yaml.YAMLError as error:
        raise InputError(f"{path}: the head between the two lines '---' is not YAML: {error}") from None
    if not isinstance(head, dict):
        raise InputError(f"{path}: the head must hold a table of fields, it holds {type(head).__name__}.")
    return Card(head, found[2])


def check_card(folder: Path) -> Card:
    """The card in a folder of weights; one that a hub would not understand is refused.

    Raises:
        InputError: there is no card, or its head lacks a field.
    """
    card = read_card(folder)
    if card is None:
        raise InputError(
            f"{folder} has no {CARD}. Weights are released with a card: data, protocol, training, results, limits and "
            "licence. See the card of brain_raw (somamba weights show brain_raw)."
        )
    if missing := [field for field in FIELDS if not card.head.get(field)]:
        raise InputError(
            f"{folder / CARD} must begin with a head in YAML between two lines '---'; it lacks {', '.join(missing)}. "
            "See the card of brain_raw (somamba weights show brain_raw)."
        )
    return card
