"""A configuration refuses words and numbers that cannot be built, however it was made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest

from somamba.errors import ConfigError
from somamba.options import check_at_least, check_probability, check_words, modern


@dataclass(frozen=True)
class Meal:
    """Two fields of words and two of numbers."""

    drink: Literal["tea", "coffee"] = "tea"
    courses: tuple[Literal["soup", "cake"], ...] = ("soup",)
    guests: int = 2
    spilled: float = 0.0


@pytest.mark.parametrize("changes", [{}, {"drink": "coffee"}, {"courses": ("cake", "soup")}, {"courses": ()}])
def test_words_of_the_list_pass(changes):
    check_words(Meal(**changes))


@pytest.mark.parametrize(("name", "field", "value"), [("wine", "drink", "wine"), ("stew", "courses", ("soup", "stew"))])
def test_another_word_is_refused_with_the_list(name, field, value):
    meal = Meal()
    object.__setattr__(meal, field, value)  # the shape checker of the tests would catch it in the constructor
    with pytest.raises(ConfigError, match=f"{field}='{name}' is not known to Meal; choose from"):
        check_words(meal)


def test_a_number_below_the_bound_is_refused():
    check_at_least(Meal(), guests=2)
    with pytest.raises(ConfigError, match="guests=2 cannot be built; it must be at least 3"):
        check_at_least(Meal(), guests=3)


def test_a_probability_outside_of_its_range_is_refused():
    check_probability(Meal(), "spilled")
    check_probability(Meal(spilled=0.99), "spilled")
    for wrong in (-0.1, 1.0, float("nan")):
        with pytest.raises(ConfigError, match=f"spilled={wrong} is no probability to train with"):
            check_probability(Meal(spilled=wrong), "spilled")


@dataclass(frozen=True)
class Feast:
    """A config with renamed fields, and one inside that renamed a value."""

    OLD_NAMES: ClassVar[Mapping[str, str]] = {"persons": "guests"}
    OLD_VALUES: ClassVar[Mapping[str, Mapping[Any, str]]] = {"drink": {True: "tea", "mocha": "coffee"}}

    guests: int = 2
    drink: str = "tea"
    next_day: Any = None


def test_old_names_and_values_are_read_as_todays_at_every_depth():
    default = Feast(next_day=Feast())
    values = {"persons": 3, "drink": True, "next_day": {"drink": "mocha", "persons": [1]}, "unknown": 1}
    wanted = {"guests": 3, "drink": "tea", "next_day": {"drink": "coffee", "guests": [1]}, "unknown": 1}
    assert modern(default, values) == wanted
    assert modern(default, wanted) == wanted


@pytest.mark.parametrize("values", [{"persons": 3, "guests": 3}, {"guests": 3, "persons": 3}])
def test_an_old_and_a_new_name_together_are_refused(values):
    with pytest.raises(ConfigError, match="persons and guests are the old and the new name of one field"):
        modern(Feast(), values)
