r"""The only place from which text goes to the terminal.

Names of files, cases and methods come from other people's files. Control characters, terminal escapes and signs that
change the direction of writing are printed as ``\x1b``, so that no name can steer the terminal or pose as another one.
"""

import codecs
import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

CLOSED_PIPE = 141
"""Exit code when the reader of our output has left (`somamba table ... | head`): 128 + SIGPIPE, as other tools give."""

# C0 and C1 controls except newline and tab; marks of direction; invisible characters and separators; surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_PLAIN = {"±": "+-", "×": "x", "–": "-", "—": "-", "−": "-", "…": "...", "→": "->", "≥": ">=", "≤": "<=", "η": "eta"}
_PLAIN |= {
    "²": "^2",
    "³": "^3",
    "·": "*",
    "√": "sqrt",
    "°": " deg",
    "µ": "u",
    "μ": "mu",
    "ρ": "rho",
    "†": "+",
    "✓": "x",
}


def clean(text: str) -> str:
    r"""The text with everything that would steer a terminal made visible: ESC becomes ``\x1b``."""
    return _UNSAFE.sub(lambda sign: sign[0].encode("unicode_escape", "surrogatepass").decode(), text)


def say(text: str = "", *, end: str = "\n") -> None:
    """Print to standard output, at once."""
    print(clean(text), end=end, flush=True)


def say_json(value: Any) -> None:
    """Print a value for programs: one JSON document, in ASCII; numbers that are not finite become null."""
    print(json.dumps(_finite(value), indent=2, default=str, allow_nan=False))


def complain(text: str) -> None:
    """Print to standard error, after the name of the program."""
    print(f"somamba: {clean(text)}", file=sys.stderr)


def make_console(*, stderr: bool = False) -> "Console":
    """A rich console that cleans every text it is given, cells of tables included."""
    # rich takes 50 ms to import, which the help of a command need not wait for.
    from rich.console import Console

    class CleanConsole(Console):
        """A console whose texts, cells and titles of tables included, cannot steer the terminal."""

        def render_str(self, text: str, **options: Any) -> "Text":
            return super().render_str(clean(text), **options)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would leave with 1, as after a defect

    return CleanConsole(stderr=stderr)


@contextmanager
def prepared_streams() -> Iterator[None]:
    """Make standard output and error safe to write to: any encoding, cleaned logs.

    A sign that the encoding lacks is written in ASCII, ``+-`` for ``±``, or as ``?``.
    """
    codecs.register_error("somamba.plain", _in_ascii)
    # Python has no stream at all if the caller closed it (``>&-``).
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115, open to the end
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # The stream of a test may have none.
        if reconfigure is not None:
            reconfigure(errors="somamba.plain")
    handler = logging.StreamHandler()
    handler.setFormatter(_CleanFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    try:
        yield
    finally:
        sys.stdout.flush()


def discard_output() -> None:
    """Point standard output at nothing, so that Python's own flush at the end cannot fail."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


class _CleanFormatter(logging.Formatter):
    """Cleans log messages, which may quote names of files."""

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))
