"""``somamba weights``: which weights are at hand, whether they are sound, what their cards say."""

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from somamba.cli.output import complain, make_console, say, say_json
from somamba.errors import InputError
from somamba.inference.weights.cards import read_card
from somamba.inference.weights.released import (
    Facts,
    describe_weights,
    export_weights,
    fetched_weights,
    verify_weights,
    weights_folder,
)
from somamba.inference.weights.trained import bundled_weights


def main(options: Namespace) -> None:
    """Run one of the parts; without one, list."""
    if options.command is None:
        show_list(as_json=options.json)
    elif options.command == "verify":
        verify(options.names)
    elif options.command == "show":
        show_card(options.name)
    else:
        export(options.name, options.folder)


def show_list(*, as_json: bool) -> None:
    """Print which weights are at hand; damaged ones are named on standard error and end in an error."""
    facts: list[Facts] = []
    damaged = []
    for name, folder in _at_hand().items():
        try:
            facts.append(describe_weights(name, folder))
        except InputError as error:
            complain(str(error))
            damaged.append(name)
    if as_json:
        say_json([asdict(one) for one in facts])
    else:
        table = Table()
        for column in ("name", "model", "parameters", "trained on", "protocol", "licence", "MB"):
            table.add_column(column, no_wrap=column == "name")
        for one in facts:
            size = f"{one.size / 1e6:.1f}"
            table.add_row(
                one.source, one.model, f"{one.parameters:,}", one.dataset, one.protocol, one.licence or "unknown", size
            )
        make_console().print(table)
    _refuse(damaged)


def verify(names: list[str]) -> None:
    """Verify weights one after the other; all are tried before bad ones end in an error.

    Args:
        names: Which ones; all that are at hand if the list is empty.
    """
    damaged = []
    for name in names or _at_hand():
        try:
            trained = verify_weights(name)
        except InputError as error:
            complain(str(error))
            damaged.append(name)
        else:
            say(f"{name}: sound ({trained.name}, {trained.parameters:,} parameters, weights {trained.weights})")
    _refuse(damaged)


def show_card(name: str) -> None:
    """Print the card of weights as it is written, without the head that is for hubs."""
    folder = weights_folder(name)
    card = read_card(folder)
    if card is None:
        raise InputError(f"{name} has no card. What is known of it is in {folder / 'config.yaml'}.")
    say(card.text, end="")


def export(name: str, folder: Path) -> None:
    """Write weights as a hub expects them, and say what was written."""
    for file in export_weights(name, folder):
        say(f"wrote {folder / file}")


def _at_hand() -> dict[str, Path]:
    return bundled_weights() | fetched_weights()


def _refuse(damaged: list[str]) -> None:
    if damaged:
        raise InputError(f"{len(damaged)} of the weights cannot be used: {', '.join(damaged)}.")
