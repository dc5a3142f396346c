"""Hooks of the site: pages that live elsewhere in the repository are shown under names of their own."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
ELSEWHERE = {
    "weights/brain_raw.md": "src/somamba/bundled_weights/brain_raw/README.md",
    "weights/brain_raw_1.md": "weights/brain_raw_1/README.md",
    "weights/so_mamba_acdc_x4.md": "weights/so_mamba_acdc_x4/README.md",
    "weights/so_mamba_acdc_x8.md": "weights/so_mamba_acdc_x8/README.md",
    "weights/so_mamba_adaptive_acdc_x4.md": "weights/so_mamba_adaptive_acdc_x4/README.md",
    "weights/content_residency_acdc_x4.md": "weights/content_residency_acdc_x4/README.md",
    "changelog.md": "CHANGELOG.md",
}
# Pictures beside those pages are part of the site too, under the name of their page.
PICTURES_ELSEWHERE = {
    f"{page.removesuffix('.md')}/{picture.name}": picture
    for page, source in ELSEWHERE.items()
    for picture in sorted((ROOT / source).parent.glob("*.png"))
}
EXAMPLES = ROOT / "examples"
PICTURES = ROOT / "docs" / "examples"
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that live elsewhere; pages below a listed folder need no entry in the navigation."""
    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for name, picture in PICTURES_ELSEWHERE.items():
        files.append(File.generated(config, name, content=picture.read_bytes()))
    for path in sorted(EXAMPLES.glob("*.py")):
        files.append(File.generated(config, f"examples/{path.stem}.md", content=example_page(path)))
    return files


def example_page(path: Path) -> str:
    """An example as a page: its text, its code, and below a piece of code the pictures that it writes."""
    parts = []
    for cell in re.split(r"^# %%", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            parts.append(re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip())
            continue
        if body.strip():
            parts.append(f"```python\n{body.strip()}\n```")
        for name in re.findall(r'"(\w+\.png)"', body):
            if (PICTURES / name).is_file():
                parts.append(f"![{name.removesuffix('.png').replace('_', ' ')}]({name})")
    return "\n\n".join(parts) + f"\n\nThe file: `examples/{path.name}`\n"


def on_page_markdown(markdown: str, page: Any, **_others: Any) -> str:
    """Point links at those pages; links to files that are not part of the site become plain text."""
    own = page.file.src_uri
    if not re.search(r"^## ", markdown, re.MULTILINE):
        page.meta.setdefault("hide", ["toc"])  # Without parts to list, the text gets the room.
    home = (ROOT / ELSEWHERE[own]).parent if own in ELSEWHERE else (ROOT / "docs" / own).parent
    places = {(ROOT / source).resolve(): page for page, source in ELSEWHERE.items()}
    places |= {picture.resolve(): name for name, picture in PICTURES_ELSEWHERE.items()}
    places |= {path.resolve(): f"examples/{path.stem}.md" for path in EXAMPLES.glob("*.py")}

    def relative(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = (home / target).resolve()
        if path in places:
            wanted = places[path]
        elif path.is_relative_to(ROOT / "docs"):
            wanted = path.relative_to(ROOT / "docs").as_posix()
        else:
            return f"] (`{path.relative_to(ROOT).as_posix()}`)"
        up = "../" * own.count("/")
        return f"]({up}{wanted}{match['anchor'] or ''})"

    return LINK.sub(relative, markdown)
