"""A registry is a read-only mapping that helps whoever mistypes."""

from collections.abc import Mapping

import pytest

from somamba.errors import SomambaError, UnknownNameError
from somamba.registry import Registry


@pytest.fixture
def fruits():
    return Registry("fruit", {"apple": 1, "pear": 2, "quince": 3})


def test_a_name_gives_its_entry(fruits):
    assert fruits["pear"] == 2
    assert fruits.kind == "fruit"


def test_it_is_a_mapping_in_the_order_it_was_written(fruits):
    assert isinstance(fruits, Mapping)
    assert list(fruits) == ["apple", "pear", "quince"]
    assert list(fruits.items()) == [("apple", 1), ("pear", 2), ("quince", 3)]
    assert len(fruits) == 3


def test_a_slip_of_the_pen_gets_a_suggestion(fruits):
    with pytest.raises(UnknownNameError) as caught:
        fruits["aple"]
    assert str(caught.value) == "No fruit is named 'aple'. Did you mean 'apple'? Known: apple, pear, quince."


def test_a_name_unlike_any_gets_the_list_without_a_suggestion(fruits):
    with pytest.raises(UnknownNameError) as caught:
        fruits["zzz"]
    assert str(caught.value) == "No fruit is named 'zzz'. Known: apple, pear, quince."


def test_the_error_is_ours_and_a_key_error(fruits):
    with pytest.raises(KeyError) as caught:
        fruits["zzz"]
    assert isinstance(caught.value, SomambaError)


def test_asking_whether_a_name_is_known_raises_nothing(fruits):
    assert "apple" in fruits
    assert "aple" not in fruits
    assert 3 not in fruits
    assert fruits.get("aple") is None


def test_it_cannot_be_written_to(fruits):
    with pytest.raises(TypeError):
        fruits["plum"] = 4
    with pytest.raises(TypeError):
        del fruits["apple"]


def test_later_changes_of_the_source_do_not_reach_it():
    entries = {"apple": 1}
    fruits = Registry("fruit", entries)
    entries["plum"] = 4
    assert "plum" not in fruits
