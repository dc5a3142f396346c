"""A page holds all it needs and lets nothing else in."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import pytest

from somamba.report.page.document import SCRIPTS, STYLES, data_block, document
from somamba.report.page.markup import element


@pytest.fixture(scope="module")
def page():
    return document("A <title>", element("p", "body"))


@pytest.mark.parametrize("kind", ["style", "script"])
def test_the_policy_names_the_digest_of_what_is_inline(page, kind):
    (text,) = re.findall(f"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#x27;", "'")
    assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy


def test_no_part_of_the_page_names_a_place_elsewhere(page):
    assert not re.findall(r"""(?:src|href)=["'](?!data:|#)|url\(|@import|https?://""", page)


def test_the_title_is_text(page):
    assert "<title>A &lt;title&gt;</title>" in page


def test_every_part_is_a_file_and_every_file_is_a_part():
    for folder, wanted in (("style", STYLES), ("script", SCRIPTS)):
        assert {entry.name for entry in (files("somamba.report") / "page" / folder).iterdir()} == set(wanted)


def test_no_text_can_end_a_data_block():
    value = {"name": "</script><!--<script>&", "quote": '"'}
    text = data_block("x", value)
    inside = text.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert "<" not in inside
    assert json.loads(inside) == value
