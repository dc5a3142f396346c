"""A run as TensorBoard shows it: event files in ``RUN/tensorboard``. Needs the extra ``tensorboard``, and no torch."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image
from typing_extensions import override

from somamba.extras import require
from somamba.report.loggers import Logger

FOLDER = "tensorboard"


class TensorBoardLogger(Logger):
    """Writes losses, rates, gradient norms, scores and pictures."""

    def __init__(self, run: Path) -> None:
        writing = require("tensorboard.summary.writer.event_file_writer", extra="tensorboard")
        self._events: Any = require("tensorboard.compat.proto.event_pb2", extra="tensorboard")
        self._summaries: Any = require("tensorboard.compat.proto.summary_pb2", extra="tensorboard")
        self._writer = writing.EventFileWriter(str(run / FOLDER))

    @override
    def start(self, step: int, time: float) -> None:
        # TensorBoard forgets what an earlier session wrote about later steps.
        began = self._events.SessionLog(status=self._events.SessionLog.START)
        self._writer.add_event(self._events.Event(step=step, wall_time=time, session_log=began))

    @override
    def scalars(self, step: int, time: float, values: Mapping[str, float]) -> None:
        self._add(step, time, [self._summaries.Summary.Value(tag=tag, simple_value=x) for tag, x in values.items()])

    @override
    def picture(self, step: int, time: float, name: str, png: bytes) -> None:
        with Image.open(io.BytesIO(png)) as opened:
            width, height = opened.size
        image = self._summaries.Summary.Image(height=height, width=width, colorspace=1, encoded_image_string=png)
        self._add(step, time, [self._summaries.Summary.Value(tag=name, image=image)])

    @override
    def close(self) -> None:
        self._writer.close()

    def _add(self, step: int, time: float, values: list[Any]) -> None:
        summary = self._summaries.Summary(value=values)
        self._writer.add_event(self._events.Event(step=step, wall_time=time, summary=summary))
