"""A configuration refuses words and numbers that cannot be built, however it was made."""

from dataclasses import dataclass
from typing import Literal

import pytest

from somamba.errors import ConfigError
from somamba.options import check_at_least, check_probability, check_words


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
