"""Frozen dataclasses from tables of plain values and back: what YAML files, checkpoints and the command line share."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar, get_args, get_type_hints

from jsonargparse import ArgumentParser, set_parsing_settings

from somamba.errors import ConfigError, SomambaError
from somamba.options import check_numbers, modern
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
    # What a nested config says is the reason; the parser wraps it in what it tried besides.
    text = str(error.__cause__ if isinstance(error.__cause__, SomambaError) else error)
    fields = {action.dest for action in parser._actions}
    if found := re.search(r"unrecognized arguments: --([\w.-]+)", text):
        hint = did_you_mean(f"--{found[1]}", [f"--{name}" for name in fields]).replace("_", "-")
        return ConfigError(f"{source}: There is no option --{found[1].replace('_', '-')}.{hint}")
    if found := re.search(r"(?:Group '([\w.]+)' does not accept o|O)ption '([^']+)'", text):
        name = f"{found[1]}.{found[2]}" if found[1] else found[2]
        return ConfigError(f"{source}: There is no field {name!r}.{did_you_mean(name, fields)}")
    return ConfigError(f"{source}: {text}")


def add_config(parser: ArgumentParser, default: Any, name: str | None = None) -> None:
    """Give a parser an option for every field of a config, nested ones dotted, with the values of ``default``.

    Args:
        parser: The parser.
        default: The config whose fields become options.
        name: The name before the dot; None for none.
    """
    parser.add_class_arguments(type(default), name)
    prefix = f"{name}." if name else ""
    parser.set_defaults({f"{prefix}{key}": value for key, value in flat(to_plain(default)).items()})


def from_plain(default: T, values: Mapping[str, Any], *, source: str) -> T:
    """Build a config like ``default`` from plain values; an unknown key or a value of another type is refused.

    Args:
        default: A config of the wanted class, whose values are taken for those that are left out.
        values: Fields by name, nested configs as nested tables.
        source: Where the values come from, for the message.
    """
    values = modern(default, values) if isinstance(values, Mapping) else values
    check_tables(type(default), values, source=source)
    parser = parser_for("somamba")
    add_config(parser, default)
    try:
        config = type(default)(**vars(parser.instantiate(parser.parse_object(values))))
    except (argparse.ArgumentError, TypeError, ValueError) as error:
        raise refusal(source, error, parser) from None
    try:
        check_numbers(config)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    return config


def check_tables(kind: type, values: Any, *, source: str, prefix: str = "") -> None:
    """Refuse anything but a table for a field that is a config itself: a text there would be opened as a file.

    Args:
        kind: Class of the config.
        values: Plain values for it.
        source: Where the values come from, for the message.
        prefix: Name of the config within the outer one, with a dot.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{source}: {prefix[:-1] or 'the settings'} must be a table of fields, got {values!r:.80}.")
    hints = get_type_hints(kind)
    for name, value in values.items():
        hint = hints.get(name) if isinstance(name, str) else None
        nested = next((p for p in (hint, *get_args(hint)) if isinstance(p, type) and is_dataclass(p)), None)
        if nested is not None and value is not None:
            check_tables(nested, value, source=source, prefix=f"{prefix}{name}.")


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
