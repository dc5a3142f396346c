"""Every deliberate mistake still fits the source, and names tests that are there; `make mutants` makes them."""

import shlex
from pathlib import Path

import pytest

from mutants import compared, evaluation, physics, scan, scans, so_mamba, training

TESTS = Path(__file__).parent
SOURCES = {path: path.read_text(encoding="utf-8") for path in (TESTS.parent / "src").rglob("*.py")}
TOPICS = (compared, evaluation, physics, scan, scans, so_mamba, training)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.__name__)
def test_the_text_of_a_mistake_occurs_once(topic):
    counts = {mistake.name: sum(text.count(mistake.old) for text in SOURCES.values()) for mistake in topic.MISTAKES}
    assert {name: count for name, count in counts.items() if count != 1} == {}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.__name__)
def test_a_mistake_names_tests_that_are_there(topic):
    words = {word.split("::")[0] for mistake in topic.MISTAKES for word in shlex.split(mistake.tests) if "/" in word}
    assert words
    assert [word for word in sorted(words) if not (TESTS / word).exists()] == []
