"""Frozen dataclasses from tables of plain values and back: what YAML files, checkpoints and the command line share."""

import argparse
import re
from collections.abc import Mapping, Set
from dataclasses import asdict
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar

from jsonargparse import ArgumentParser, set_parsing_settings

from somamba.errors import ConfigError
from somamba.options import modern
from somamba.registry import did_you_mean

T = TypeVar("T")


def parser_for(program: str, usage: str | None = None) -> ArgumentParser:
    """A parser that raises instead of leaving, and takes the docstrings of fields as help."""
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    return ArgumentParser(prog=program, usage=usage, exit_on_error=False, allow_abbrev=False)


def refusal(source: object, error: Exception, parser: ArgumentParser) -> ConfigError:
    """The error to raise for one that a parser raised: an unknown name is set beside the known one closest to it.

    Args:
        source: Where the values come from, for the message.
        error: What the parser raised.
        parser: The parser.
    """
    text, fields = str(error), {action.dest for action in parser._actions}
    if found := re.search(r"unrecognized arguments: --([\w.-]+)", text):
        hint = did_you_mean(f"--{found[1]}", [f"--{name}" for name in fields]).replace("_", "-")
        return ConfigError(f"{source}: There is no option --{found[1].replace('_', '-')}.{hint}")
    if found := re.search(r"(?:Group '([\w.]+)' does not accept o|O)ption '([^']+)'", text):
        name = f"{found[1]}.{found[2]}" if found[1] else found[2]
        return ConfigError(f"{source}: There is no field {name!r}.{did_you_mean(name, fields)}")
    return ConfigError(f"{source}: {text}")


def add_config(parser: ArgumentParser, default: Any, name: str | None = None, *, skip: Set[str] = frozenset()) -> None:
    """Give a parser an option for every field of a config, nested ones dotted, with the values of ``default``."""
    parser.add_class_arguments(type(default), name, skip=set(skip))
    prefix = f"{name}." if name else ""
    parser.set_defaults({f"{prefix}{key}": value for key, value in flat(to_plain(default)).items()})


def from_plain(default: T, values: Mapping[str, Any], *, source: str) -> T:
    """Build a config like ``default`` from plain values; an unknown key or a value of another type is refused.

    Args:
        default: A config of the wanted class, whose values stand where others are left out.
        values: Fields by name, nested configs as nested tables.
        source: Where the values come from, for the message.
    """
    parser = parser_for("somamba")
    add_config(parser, default)
    try:
        return type(default)(**vars(parser.instantiate(parser.parse_object(modern(default, values)))))
    except (argparse.ArgumentError, TypeError) as error:
        raise refusal(source, error, parser) from None


def to_plain(config: Any) -> dict[str, Any]:
    """Every field of a config as values YAML can hold; `from_plain` undoes it exactly."""
    return {name: _plain(value) for name, value in asdict(config).items()}


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted names."""
    items: dict[str, Any] = {}
    for name, value in values.items():
        nested = isinstance(value, Mapping) and value
        items |= flat(value, f"{prefix}{name}.") if nested else {f"{prefix}{name}": value}
    return items


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return _plain(value.value)
    return str(value) if isinstance(value, PurePath) else value
