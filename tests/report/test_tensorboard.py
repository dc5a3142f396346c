"""What TensorBoard's own reader finds in the files is what the journal holds."""

import io

import pytest
from PIL import Image

pytest.importorskip("tensorboard")

from report.test_loggers import EVENTS
from somamba.report.loggers import Loggers


def test_curves_and_pictures_are_read_back(tmp_path):
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    content = io.BytesIO()
    Image.new("L", (8, 4), 100).save(content, format="PNG")
    (tmp_path / "validation.png").write_bytes(content.getvalue())
    loggers = Loggers(["tensorboard"], tmp_path)
    for event in EVENTS:
        loggers.add(event)
    loggers.close()
    (path,) = (tmp_path / "tensorboard").iterdir()
    events = [Event.FromString(raw) for raw in RawEventFileLoader(str(path)).Load()]
    numbers = {(event.step, value.tag): value.simple_value for event in events for value in event.summary.value}
    assert numbers[1, "train/loss"] == pytest.approx(0.5)
    assert numbers[1, "train/gradient_norm"] == pytest.approx(2.0)
    assert (2, "train/loss") not in numbers
    assert numbers[2, "validation/psnr"] == pytest.approx(30.0)
    (picture,) = (value.image for event in events for value in event.summary.value if value.HasField("image"))
    assert (picture.width, picture.height, picture.encoded_image_string) == (8, 4, content.getvalue())
