"""Programs that show trainings, fed from the events of a journal: TensorBoard, and whatever an entry point names.

A logger is a class that is called with the folder of a run. Packages offer theirs in the group ``somamba.loggers``.
Loggers only read: they are called with what the journal holds already, and one that fails is named and switched off.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol, runtime_checkable

from somamba.errors import InputError
from somamba.registry import Registry
from somamba.report.learning import is_number
from somamba.results.journal import PICTURE, Event

GROUP = "somamba.loggers"
OURS = EntryPoint("tensorboard", "somamba.report.tensorboard:TensorBoardLogger", GROUP)
TRAINING = {"loss": "train/loss", "norm": "train/gradient_norm", "rate": "train/rate", "seconds": "train/seconds"}
"""Names under which loggers see the facts of a step."""
VALIDATION = {name: f"validation/{name}" for name in ("psnr", "ssim", "nmse")}
warn = logging.getLogger(__name__).warning


@runtime_checkable
class Logger(Protocol):
    """What a logger has to do; all times are seconds since 1970."""

    def start(self, step: int, time: float) -> None:
        """Note that a session begins after so many steps; what is known of later steps will happen again."""

    def scalars(self, step: int, time: float, values: Mapping[str, float]) -> None:
        """Show numbers by their names, such as ``train/loss``.

        Args:
            step: The step they belong to.
            time: When they were measured, in seconds since 1970.
            values: The numbers by their names.
        """

    def picture(self, step: int, time: float, name: str, png: bytes) -> None:
        """Show a grey picture, the content of a PNG file.

        Args:
            step: The step it belongs to.
            time: When it was made, in seconds since 1970.
            name: The name of the picture.
            png: The content of the PNG file.
        """

    def close(self) -> None:
        """Write what is not written yet."""


def known_loggers() -> Registry[EntryPoint]:
    """Ours and those that installed packages offer, by name."""
    return Registry("logger", {point.name: point for point in (*entry_points(group=GROUP), OURS)})


class Loggers:
    """The loggers of one run."""

    def __init__(self, names: Sequence[str], run: Path) -> None:
        """Open them.

        Args:
            names: Their names in the group of entry points.
            run: Folder of the run.

        Raises:
            UnknownNameError: no package offers a logger of this name.
            MissingExtraError: a logger needs a package that is not installed.
            InputError: a logger could not be opened.
        """
        known = known_loggers()
        points = {name: known[name] for name in names}
        self._run = run
        self._open: dict[str, Logger] = {name: _opened(point, run) for name, point in points.items()}

    def add(self, event: Event) -> None:
        """Pass an event on, as far as loggers show it."""
        step, time = event["step"], float(event.get("time", 0.0))
        if event["event"] == "start":
            self._each(lambda logger: logger.start(step, time))
        elif event["event"] in ("step", "validation"):
            names = TRAINING if event["event"] == "step" else VALIDATION
            values = {shown: float(event[name]) for name, shown in names.items() if is_number(event.get(name))}
            self._each(lambda logger: logger.scalars(step, time, values))
        if event["event"] == "validation" and (self._run / PICTURE).is_file():
            content = (self._run / PICTURE).read_bytes()
            self._each(lambda logger: logger.picture(step, time, "validation/slice", content))

    def close(self) -> None:
        """Let all loggers write what they hold."""
        self._each(lambda logger: logger.close())

    def _each(self, act: Callable[[Logger], None]) -> None:
        for name, logger in list(self._open.items()):
            try:
                act(logger)
            except Exception as error:  # noqa: BLE001, a logger is foreign code, and no training ends because of it
                del self._open[name]
                warn("Logger %r failed and is switched off, the training goes on: %s", name, error or type(error))


def _opened(point: EntryPoint, run: Path) -> Logger:
    try:
        logger: Logger = point.load()(run)
    except (ImportError, OSError, AttributeError) as error:
        raise InputError(f"Logger {point.name!r} ({point.value}) cannot be opened: {error}") from error
    return logger
