"""What a configuration field allows, checked for every way in which a configuration can be made; and old names."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from somamba.errors import ConfigError


def check_words(config: Any) -> None:
    """Refuse a word that the ``Literal`` type of its field does not list; a tuple of such words likewise."""
    for name, kind in get_type_hints(type(config)).items():
        value = getattr(config, name)
        if get_origin(kind) is tuple:
            kind, words = get_args(kind)[0], value
        else:
            words = (value,)
        if get_origin(kind) is not Literal:
            continue
        for word in words:
            if word not in get_args(kind):
                known = ", ".join(map(str, get_args(kind)))
                raise ConfigError(f"{name}={word!r} is not known to {type(config).__name__}; choose from {known}.")


LARGEST_SIZE = 16_384
"""Largest number of channels, layers or the like: far more than any network has, and little enough to be counted."""
LARGEST_WHOLE = 2**63 - 1
"""Largest whole number of any field; seeds and tensors take no larger one."""


def check_at_least(config: Any, **smallest: int) -> None:
    """Refuse a size below the smallest that can be built, or above `LARGEST_SIZE`; of several sizes, any of them."""
    for name, bound in smallest.items():
        value = getattr(config, name)
        which, sizes = ("each", value) if isinstance(value, tuple | list) else ("it", (value,))
        if any(size < bound for size in sizes):
            raise ConfigError(f"{name}={value} cannot be built; {which} must be at least {bound}.")
        if any(size > LARGEST_SIZE for size in sizes):
            raise ConfigError(f"{name}={value} cannot be built; {which} must be at most {LARGEST_SIZE}.")


def check_between(config: Any, prefix: str = "", **bounds: tuple[float | int, float | int]) -> None:
    """Refuse a number outside of its bounds, which are allowed themselves; None is no number and passes.

    Args:
        config: The config.
        prefix: What precedes the name of a field in the message, such as ``optimiser.``.
        bounds: The smallest and the largest value of each field.
    """
    for name, (least, most) in bounds.items():
        value = getattr(config, name)
        for number in value if isinstance(value, tuple | list) else (value,):
            if number is not None and not least <= number <= most:
                raise ConfigError(f"{prefix}{name}={value} must lie between {least:g} and {most:g}.")


def check_positive(config: Any, prefix: str, *names: str) -> None:
    """Refuse a number that is not above zero; None is no number and passes.

    Args:
        config: The configuration.
        prefix: What stands before the names in the message, such as ``machine.``.
        *names: Its fields.
    """
    for name in names:
        value = getattr(config, name)
        if value is not None and not value > 0:
            raise ConfigError(f"{prefix}{name}={value} must be positive.")


def check_numbers(config: Any, prefix: str = "") -> None:
    """Refuse numbers that no computation can use, in a config and in those within it: infinite, or beyond 64 bits."""
    if is_dataclass(config):
        for item in fields(config):
            check_numbers(getattr(config, item.name), f"{prefix}.{item.name}" if prefix else item.name)
    elif isinstance(config, Mapping):
        for name, value in config.items():
            check_numbers(value, f"{prefix}.{name}")
    elif isinstance(config, list | tuple):
        for value in config:
            check_numbers(value, prefix)
    elif isinstance(config, float) and not math.isfinite(config):
        raise ConfigError(f"{prefix}={config} must be a finite number.")
    elif isinstance(config, int) and abs(config) > LARGEST_WHOLE:
        raise ConfigError(f"{prefix} must be a whole number of at most 64 bits; it has {config.bit_length()}.")


def check_probability(config: Any, *names: str) -> None:
    """Refuse a probability, of dropping something for one, outside of 0 (never) to 1 (excluded: always)."""
    for name in names:
        if not 0 <= getattr(config, name) < 1:
            raise ConfigError(f"{name}={getattr(config, name)} is no probability to train with; choose 0 to below 1.")


def modern(default: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of plain values as the config's class has them today: what an older version wrote is still read.

    A class says what it renamed: ``OLD_NAMES`` has the new name of a field for each old one, and ``OLD_VALUES`` for a
    field the new value for each old one.

    Args:
        default: A config of the class that the values are for.
        values: Fields by name, nested configs as nested tables; names that are unknown are left as they are.
    """
    names = getattr(default, "OLD_NAMES", {})
    meanings = getattr(default, "OLD_VALUES", {})
    table: dict[str, Any] = {}
    for old, value in values.items():
        name = names.get(old, old)
        if name in table or (name != old and name in values):
            raise ConfigError(f"{old} and {name} are the old and the new name of one field; state it once.")
        nested = getattr(default, name, None) if isinstance(name, str) else None
        if isinstance(value, Mapping) and is_dataclass(nested):
            value = modern(nested, value)
        elif isinstance(value, bool | int | str):
            value = meanings.get(name, {}).get(value, value)
        table[name] = value
    return table
