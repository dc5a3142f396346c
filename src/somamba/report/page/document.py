"""One HTML file that holds all it needs: style, script and data inside, and a policy that lets nothing else in.

Style and script are files in the folders ``style`` and ``script``. A strict Content-Security-Policy names the SHA-256
of both, so a browser runs these two texts and no other, whatever a name in a result file may hold, and opens no
connection: ``default-src 'none'``.
"""

import base64
import hashlib
import json
from importlib.resources import files
from string import Template
from typing import Any

from somamba.report.page.markup import Html, element

STYLES = ("page.css", "tables.css", "charts.css", "records.css", "viewer.css")
SCRIPTS = (
    "tables.js",
    "pixels.js",
    "colours.js",
    "view.js",
    "frames.js",
    "panel.js",
    "pointer.js",
    "viewer.js",
    "keys.js",
    "start.js",
)
"""The scripts in the order in which they need each other; together they are one function."""


def document(title: str, body: Html) -> str:
    """The text of a whole page.

    Args:
        title: Title of the window.
        body: Content of the page, for example what `somamba.report.page.viewer.viewer` returns.
    """
    style = "".join(part(f"style/{name}") for name in STYLES)
    script = '(() => {\n"use strict";\n' + "".join(part(f"script/{name}") for name in SCRIPTS) + "})();\n"
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # Not through `element`: inside these two elements a browser reads text as it is, and hashes it as it is.
    return Template(part("page.html")).substitute(
        policy=element("meta", http_equiv="Content-Security-Policy", content=policy),
        title=element("title", title),
        style=f"<style>{style}</style>",
        body=body,
        script=f"<script>{script}</script>",
    )


def data_block(identifier: str, value: Any) -> Html:
    """A value for the script to read; no text in it can end the block."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{identifier}">{text}</script>')


def part(name: str) -> str:
    """The text of one of the files that a page is made of."""
    return (files("somamba.report") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
