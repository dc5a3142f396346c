"""The record of adaptations is read from old checkpoints too, and one that is damaged is refused."""

import pytest
import torch

from inference.checkpoints import tiny
from raw.made import coil_kspace
from somamba.errors import InputError
from somamba.inference.weights.adaptations import UNKNOWN, adaptation_notes, adaptations, samples_digest
from somamba.inference.weights.checkpoint import Checkpoint, read_checkpoint, save_checkpoint
from somamba.raw.formats.in_memory import raw_scan_of

SCAN = raw_scan_of(coil_kspace(), axes=("coils", "y", "x"), centred=True)
OLD = {"steps": 2, "slices_used": [0], "kept_step": 2}


def test_the_record_of_an_older_checkpoint_does_not_say_which_scan_it_was():
    assert adaptations({}) == []
    assert adaptations({"adaptation": OLD}) == [OLD]
    assert adaptation_notes({}, SCAN) == []
    (note,) = adaptation_notes({"adaptation": OLD}, SCAN)
    assert note.startswith(UNKNOWN)
    assert "()" not in note


def test_records_are_listed_with_the_oldest_first():
    last = {**OLD, "earlier": [{"steps": 1}, {"steps": 5}]}
    assert [record["steps"] for record in adaptations({"adaptation": last})] == [1, 5, 2]
    assert all("earlier" not in record for record in adaptations({"adaptation": last}))


def test_a_scan_with_fewer_slices_is_another():
    record = {"slices_used": [0, 4], "samples": samples_digest(SCAN, [0]), "parent": "72e412aacd541bb9"}
    assert "72e412aacd541bb9" in adaptation_notes({"adaptation": record}, SCAN)[0]
    assert adaptation_notes({"adaptation": {**record, "slices_used": [0]}}, SCAN) == []


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ("once", "adaptation must be a table"),
        ({"earlier": {"steps": 1}}, "earlier a list of tables"),
        ({"earlier": [3]}, "earlier a list of tables"),
        ({"earlier": "twice"}, "earlier a list of tables"),
        ({"slices_used": [-1]}, "slices_used must be a list"),
        ({"slices_used": 3}, "slices_used must be a list"),
        ({"earlier": [{"samples": 7}]}, r"adaptation\.samples must be a text"),
        ({"parent": []}, r"adaptation\.parent must be a text"),
    ],
)
def test_a_record_that_no_adaptation_wrote_is_refused(record, complaint, tmp_path):
    trained = tiny(tmp_path)
    config = {**trained.config, "adaptation": record}
    save_checkpoint(tmp_path / "made", Checkpoint({"a": torch.zeros(1)}, config))
    with pytest.raises(InputError, match=complaint):
        read_checkpoint(tmp_path / "made")
