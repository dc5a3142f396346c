"""Cards have a head that hubs read, and it says what the text says."""

import re
from pathlib import Path

import pytest

from somamba.errors import InputError
from somamba.inference.weights.cards import FIELDS, check_card, read_card
from somamba.inference.weights.checkpoint import read_config
from somamba.inference.weights.trained import FOLDER

ROOT = Path(__file__).parents[3]
RELEASED = sorted(path.parent for place in (FOLDER, ROOT / "weights") for path in place.glob("*/SHA256SUMS"))
LICENCES = {"apache-2.0": "Apache-2.0", "cc-by-nc-sa-4.0": "CC BY-NC-SA 4.0"}


def test_there_are_released_weights():
    assert "brain_raw" in [folder.name for folder in RELEASED]


@pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)
def test_the_head_says_what_the_text_says(folder):
    card = check_card(folder)
    assert set(FIELDS) <= set(card.head)
    assert card.head["library_name"] == "somamba"
    assert LICENCES[card.licence] in card.text.partition("**Licence.**")[2]
    (model,) = card.head["model-index"]
    assert model["name"] == folder.name
    for result in model["results"]:
        assert {"type", "name"} <= result["task"].keys()
        assert result["dataset"]["type"] in card.head["datasets"]
        numbers = {float(number) for number in re.findall(r"\d+\.\d+", card.text)}
        for metric in result["metrics"]:
            assert metric["type"] in card.head["metrics"]
            assert metric["value"] in numbers, metric


@pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)
def test_pictures_of_a_card_lie_beside_it(folder):
    card = check_card(folder)
    assert all((folder / name).is_file() for name in card.pictures)
    assert f"{read_config(folder)['parameters']:,} parameters" in card.text


def test_a_card_without_a_head_is_read_as_it_is(tmp_path):
    (tmp_path / "README.md").write_text("# Knee\n\n---\n\nA line above.\n")
    card = read_card(tmp_path)
    assert (card.head, card.licence, card.text[:6]) == ({}, "", "# Knee")
    with pytest.raises(InputError, match="it lacks license, library_name"):
        check_card(tmp_path)


def test_a_card_with_windows_line_ends_is_read(tmp_path):
    (tmp_path / "README.md").write_bytes(b"---\r\nlicense: mit\r\n---\r\n# Knee\r\n")
    assert read_card(tmp_path).licence == "mit"


def test_no_card_is_none_and_cannot_be_released(tmp_path):
    assert read_card(tmp_path) is None
    with pytest.raises(InputError, match=r"has no README\.md"):
        check_card(tmp_path)


@pytest.mark.parametrize("head", ["license: [", "- a\n- b", "!!python/object:os.system x"])
def test_a_head_that_is_no_table_is_refused(tmp_path, head):
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n# Knee\n")
    with pytest.raises(InputError, match="the head"):
        read_card(tmp_path)
