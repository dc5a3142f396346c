"""A picture of one validation slice, written after every validation: what the numbers of the journal look like.

From left to right: target, zero-filled image, reconstruction, and the error, five times as bright. It is made for
people and loggers that watch a run. Nothing of a training depends on it, so one that cannot be written only causes a
message.
"""

import logging
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from somamba.data.slices import SliceDataset
from somamba.durable import replace_file
from somamba.errors import StorageError
from somamba.evaluation.evaluate import magnitude
from somamba.evaluation.metrics import Scores
from somamba.inference.overview import png
from somamba.physics.coils.maps import root_sum_of_squares
from somamba.results.journal import PICTURE

ERROR_GAIN = 5
"""Errors are shown this much brighter than images, always the same, so that pictures can be compared."""
logger = logging.getLogger(__name__)


class ValidationPicture:
    """Keeps the image of one slice while a validation runs, the one in the middle of the first case."""

    def __init__(self, folder: Path, dataset: SliceDataset) -> None:
        self._path, self._dataset = folder / PICTURE, dataset
        self._index = len(dataset.cases[0].slices) // 2
        self._image: Tensor | None = None

    def take(self, index: int, image: Tensor, _scores: Scores) -> None:
        """Keep the image if it is of the slice that is shown; `somamba.evaluation.evaluate` calls this."""
        if index == self._index:
            self._image = image

    def write(self) -> None:
        """Write the picture, in the process that computed the slice."""
        if self._image is None:
            return
        try:
            replace_file(self._path, self._drawn(self._image))
        except StorageError as error:
            logger.warning("The picture of the validation was not written, the training goes on: %s", error)

    def _drawn(self, image: Tensor) -> bytes:
        batch = self._dataset.batch([self._index])
        target = batch.target[0, 0]
        made = magnitude(image[None], protocol=self._dataset.config.protocol)[0, 0]
        start = root_sum_of_squares(batch.A.adjoint(batch.y))[0, 0]
        peak = float(target.max()) or 1.0
        row = torch.cat([target, start, made, ERROR_GAIN * (made - target).abs()], dim=1) / peak
        return png(np.round(255 * row.clamp(0, 1).numpy()).astype(np.uint8), Software="somamba")
