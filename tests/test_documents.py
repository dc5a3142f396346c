"""What the documents point at is there: links and their anchors, commands, recipes, and the files of the paper map."""

import re
from pathlib import Path

import pytest

from somamba.cli.main import COMMANDS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "weights").rglob("*.md")])


def anchor(heading):
    """What a heading is called in an address, as on the platforms that show Markdown."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_there_are_documents():
    assert {"README.md", "CHANGELOG.md", "paper_map.md", "results.md"} <= {path.name for path in DOCUMENTS}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    for address in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in address:
            place, _, part = address.partition("#")
            target = path.parent / place if place else path
            assert target.exists(), address
            if part:
                headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
                assert part in map(anchor, headings), address


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_recipes_exist(path):
    text = path.read_text(encoding="utf-8")
    typed = re.findall(r"^ {4}(?:\S*/)?somamba ([a-z]\w*)|`somamba ([a-z]\w*)", text, re.MULTILINE)
    assert {name for pair in typed for name in pair if name} <= set(COMMANDS)
    assert all((ROOT / name).is_file() for name in re.findall(r"recipes/\w+\.yaml", text))


def test_the_paper_map_names_files_that_are_there():
    text = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "src" / "somamba").rglob("*.py")}
    assert len(named) > 20
    assert [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in there)] == []
