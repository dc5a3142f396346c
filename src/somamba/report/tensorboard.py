"""A run as TensorBoard shows it: event files in ``RUN/tensorboard``. Needs the extra ``tensorboard``, and no torch."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from somamba.extras import require

FOLDER = "tensorboard"


class TensorBoardLogger:
    """Writes losses, rates, gradient norms, scores and pictures; see `somamba.report.loggers.Logger`."""

    def __init__(self, run: Path) -> None:
        writing = require("tensorboard.summary.writer.event_file_writer", extra="tensorboard")
        self._events: Any = require("tensorboard.compat.proto.event_pb2", extra="tensorboard")
        self._summaries: Any = require("tensorboard.compat.proto.summary_pb2", extra="tensorboard")
        self._writer = writing.EventFileWriter(str(run / FOLDER))

    def start(self, step: int, time: float) -> None:
        """Let what an earlier session wrote about later steps be forgotten."""
        began = self._events.SessionLog(status=self._events.SessionLog.START)
        self._writer.add_event(self._events.Event(step=step, wall_time=time, session_log=began))

    def scalars(self, step: int, time: float, values: Mapping[str, float]) -> None:
        """Add a point to each curve.

        Args:
            step: The step they belong to.
            time: When they were measured, in seconds since 1970.
            values: The numbers by the names of their curves.
        """
        self._add(step, time, [self._summaries.Summary.Value(tag=tag, simple_value=x) for tag, x in values.items()])

    def picture(self, step: int, time: float, name: str, png: bytes) -> None:
        """Add a picture.

        Args:
            step: The step it belongs to.
            time: When it was made, in seconds since 1970.
            name: The name of the picture.
            png: The content of the PNG file.
        """
        with Image.open(io.BytesIO(png)) as opened:
            width, height = opened.size
        image = self._summaries.Summary.Image(height=height, width=width, colorspace=1, encoded_image_string=png)
        self._add(step, time, [self._summaries.Summary.Value(tag=name, image=image)])

    def close(self) -> None:
        """Write what is not written yet."""
        self._writer.close()

    def _add(self, step: int, time: float, values: list[Any]) -> None:
        summary = self._summaries.Summary(value=values)
        self._writer.add_event(self._events.Event(step=step, wall_time=time, summary=summary))
