"""The site as it is built, opened from disk in a real browser: search works, nothing is asked of the network."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import somamba
from report.browser import browser

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("index.html", "start.html", "examples/what_the_router_keeps.html", "api.html")
PHONE = 400


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


def test_the_reference_has_every_public_name_and_shows_examples_as_code(site):
    text = (site / "api.html").read_text(encoding="utf-8")
    headings = set(re.findall(r'class="doc doc-heading">\s*(somamba\.\w+)', text))
    assert {f"somamba.{name}" for name in somamba.__all__} <= headings
    shown = re.sub(r"<[^>]+>", "", "".join(re.findall(r"<code>.*?</code>", text, re.DOTALL)))
    assert all(
        f"somamba.{name}(" in shown for name in ("reconstruct", "evaluate", "train", "load", "build", "open_scan")
    )
    # The wrapped lines of one return value are one row.
    assert "the units of k-space under the centred orthonormal FFT, with voxel size" in " ".join(text.split())


def test_search_works_from_disk_and_no_page_is_wider_than_a_phone(site):
    with browser() as page:
        page.open(site / "examples" / "scan_to_nifti.html")
        page.run(
            "const field = document.querySelector('.md-search__input'); field.focus(); field.value = 'router';"
            "field.dispatchEvent(new Event('keyup', {bubbles: true}))"
        )
        page.wait("document.querySelectorAll('.md-search-result__item').length")
        found = page.run("return [...document.querySelectorAll('.md-search-result__item a')].map(link => link.href)")
        assert any(address.endswith("examples/what_the_router_keeps.html") for address in found)
        assert [address for address in page.requests() if not address.startswith(("file:", "data:"))] == []
        page.tell("Emulation.setDeviceMetricsOverride", width=PHONE, height=900, deviceScaleFactor=1, mobile=False)
        for name in PAGES:
            page.open(site / name)
            assert page.run("return document.documentElement.scrollWidth") <= PHONE
            shown = page.run("return [...document.querySelectorAll('article img')].map(image => image.naturalWidth)")
            assert all(shown)
