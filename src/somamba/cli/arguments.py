"""How every command reads its arguments: exact names, helpful refusals, numbers within bounds, shared options."""

import argparse
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from somamba.cli.declared import MOST_THREADS
from somamba.cli.output import clean, complain
from somamba.errors import UsageError
from somamba.registry import did_you_mean

MOST_PIXELS = 4096
"""Largest height or width of an image that a command takes."""
LARGEST_SEED = 2**63 - 1


class CommandParser(argparse.ArgumentParser):
    """A parser that takes exact names only and proposes the nearest one for a name it does not know.

    ``--help`` prints the description as it is written.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options["allow_abbrev"] = False
        super().__init__(*arguments, **options)
        self.old_names: dict[str, str] = {}

    def add_old_name(self, old: str, new: str) -> None:
        """Go on reading an option under a name it had before."""
        self.old_names[old] = new

    def spelt(self, arguments: Sequence[str]) -> list[str]:
        """The arguments with old names replaced by today's; each replacement is reported on standard error."""
        words = []
        for word in arguments:
            name, equals, value = word.partition("=")
            if name in self.old_names:
                complain(f"note: {name} is called {self.old_names[name]} now; the old name is still read.")
                word = f"{self.old_names[name]}{equals}{value}"
            words.append(word)
        return words

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse; arguments that are left over are refused."""
        words = self.spelt(sys.argv[1:] if args is None else args)
        known = self._names(words)
        names = [word.partition("=")[0] for word in words[: words.index("--") if "--" in words else None]]
        # Before anything else: ``--out x`` is answered by ``--output``, not by what is missing without it.
        if not {"-h", "--help"} & set(names):
            self._refuse_unknown([name for name in names if name.startswith("--")], known)
        options, rest = self.parse_known_args(words, namespace)
        self._refuse_unknown([word.partition("=")[0] for word in rest if word.startswith("-")], known)
        if rest:
            self.error(f"{' '.join(rest)!r} is one argument too many.")
        return options

    def _refuse_unknown(self, names: Sequence[str], known: Sequence[str]) -> None:
        """Refuse the first name that no option has."""
        if unknown := [name for name in names if name not in known]:
            self.error(f"There is no option {unknown[0]}.{did_you_mean(unknown[0], known)}")

    def _names(self, words: Sequence[str]) -> list[str]:
        """Every option of this parser and of those of its parts that the words name."""
        names = [name for action in self._actions for name in action.option_strings]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                parts = [part for name, part in action.choices.items() if name in words]
                names += [name for part in parts for name in part._names(words)]
        return names

    def error(self, message: str) -> NoReturn:
        """Raise an error that says what is wrong and where to look; the program prints it and leaves with 2."""
        message = f"{message[0].upper()}{message[1:]}"
        raise UsageError(f"{message}{'' if message[-1] in '.?' else '.'} See: {self.prog} --help")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # argparse reads --option=-- as an option with no value at all, and hands out an empty list for it.
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            raise argparse.ArgumentError(action, "'--' is not a value.")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            hint = did_you_mean(str(value), known)
            raise argparse.ArgumentError(action, f"{value!r} is not known.{hint} Choose from {', '.join(known)}.")

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(clean(message), file)


class RecipeParser(CommandParser):
    """The parser of a command whose first argument is a YAML file, and whose other options are fields of it.

    Fields are spelt as options are, ``--batch-size``; ``--batch_size``, as in the file, is read too. ``--help`` is an
    option of the command's own, because it means another thing behind the file.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options, add_help=False)

    def spelt(self, arguments: Sequence[str]) -> list[str]:
        """The arguments with dashes in all names of options."""
        words = []
        for word in super().spelt(arguments):
            name, equals, value = word.partition("=")
            if name.startswith("--") and "_" in name:
                complain(f"note: {name} is spelt {name.replace('_', '-')} now; the old spelling is still read.")
                word = f"{name.replace('_', '-')}{equals}{value}"
            words.append(word)
        return words

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """The options about the session, with the file as `path`, and the rest as `fields` named as in the file."""
        arguments = self.spelt(sys.argv[1:] if args is None else args)
        if {"-h", "--help"} & set(arguments[:1]):
            self.print_help()
            self.exit(0)
        if not arguments or arguments[0].startswith("-"):
            usage = (self.usage or "").replace("%(prog)s", self.prog)
            self.error(f"the file comes first: {usage}.")
        options, rest = self.parse_known_args(arguments[1:], namespace)
        if "--config" in (word.partition("=")[0] for word in rest):
            self.error("there is no option --config; the file comes first.")
        options.path, options.fields, options.arguments = Path(arguments[0]), list(map(_as_field, rest)), arguments
        return options


def _as_field(word: str) -> str:
    if not word.startswith("--"):
        return word
    name, equals, value = word[2:].partition("=")
    return f"--{name.replace('-', '_')}{equals}{value}"


def image_size(text: str) -> tuple[int, int]:
    """Read ``320`` or ``256x218`` as height and width."""
    height, _, width = text.partition("x")
    try:
        size = int(height), int(width or height)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 320 or 256x218") from error
    if not (min(size) >= 1 and max(size) <= MOST_PIXELS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; both numbers must be from 1 to {MOST_PIXELS}")
    return size


def adaptation_steps(text: str) -> int:
    """The steps of an adaptation; 0 stands for auto."""
    if text == "auto":
        return 0
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is neither auto nor a number of steps, such as 40")
    return int(text)


def whole(least: int, most: int = 2**31 - 1) -> Callable[[str], int]:
    """A type for options that take a whole number within bounds."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}.")
        return value

    return read


def real(least: float | int, most: float | int = math.inf) -> Callable[[str], float]:
    """A type for options that take a finite number within bounds."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and least <= value <= most):
            bounds = f"from {least:g} to {most:g}" if math.isfinite(most) else f"of at least {least:g}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a number {bounds}.")
        return value

    return read


count = whole(1)
threads = whole(1, MOST_THREADS)
seed = whole(0, LARGEST_SEED)
acceleration = real(1, 1024)


def words(text: str) -> tuple[str, ...]:
    """Read ``y,x,coils`` as words."""
    return tuple(word.strip() for word in text.split(","))


def title(text: str) -> str:
    """Read a text that goes into a file: UTF-8 in any locale; bytes of another encoding are refused."""
    try:
        return text.encode(errors="surrogateescape").decode()
    except UnicodeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not text in UTF-8.") from None


def path(text: str) -> Path:
    """Read the name of a file or folder."""
    if not text:
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a file or folder.")
    return Path(text)


def add_parts(
    parser: CommandParser, parts: Mapping[str, tuple[str, str]], *, required: bool
) -> dict[str, CommandParser]:
    """Add the parts of a command.

    Args:
        parser: Parser of the command.
        parts: Name of each part, with its summary and an example.
        required: Whether the command is nothing without a part.

    Returns:
        The parser of each part.
    """
    commands = parser.add_subparsers(dest="command", required=required, metavar="COMMAND")
    return {
        name: commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=f"example:\n  {example}"
        )
        for name, (summary, example) in parts.items()
    }


def add_scan_choices(parser: CommandParser) -> None:
    """Add the options for what a file does not tell; the commands that open scans share them."""
    parser.add_argument(
        "--axes",
        type=words,
        help="axes of a NumPy array in their order, from slices, coils, y, x (default: by their number)",
    )
    centring = parser.add_mutually_exclusive_group()
    centring.add_argument(
        "--centred",
        dest="centred",
        action="store_true",
        default=None,
        help="zero frequency and object are in the middle (default: found by where the energy is)",
    )
    centring.add_argument(
        "--uncentred", dest="centred", action="store_false", help="the zero frequency is the first sample of k-space"
    )
    parser.add_argument("--maps", type=path, help="coil maps in a file of their own, .npy or .cfl")
