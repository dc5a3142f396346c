"""Hostile YAML is refused at once; ordinary YAML is read as ever."""

import pytest
import yaml

from somamba.bounded_yaml import MOST_BYTES, load_yaml

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_ordinary_documents_are_read_as_the_safe_loader_reads_them():
    text = "a: 1\nb: [1.5, true, null, text]\nc: &x {d: 2020-01-01}\ne: *x\n"
    assert load_yaml(text.encode()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (BOMB, "more than 10,000 values"),
        (MERGES, "Merge keys"),
        ("a: &a [*a]\n", "repeat themselves|recursive"),
        ("[" * 5000 + "]" * 5000, "nested more than 32 deep"),
        ("{a: " * 400 + "1" + "}" * 400, "nested more than 32 deep"),
        (f"[{'1,' * 30_000}]", "more than 10,000 values"),
        ("a: " + "9" * 10_000, "cannot be read"),
        ("a: 2020-13-45", "cannot be read"),
        ("#" * (MOST_BYTES + 1), "at most"),
        ("a: !!python/object/apply:os.system [true]", "could not determine a constructor"),
        ("a: [", "expected"),
        ("a: \x00", "special characters"),
    ],
)
def test_what_is_hostile_or_broken_is_refused(text, complaint):
    with pytest.raises(yaml.YAMLError, match=complaint):
        load_yaml(text.encode())


def test_the_bombs_are_small():
    assert len(BOMB) < 600
    assert len(MERGES) < 800
