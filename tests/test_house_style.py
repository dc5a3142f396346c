"""What CONTRIBUTING asks of every file, counted: lengths, rooms, `Args`, sentences, and the width of Markdown."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "somamba"
MODULES = sorted(SOURCE.rglob("*.py"))
KERNELS = {
    SOURCE / "scan" / place / name
    for place in ("gpu", "selective/gpu")
    for name in ("tiles.py", "forward.py", "backward.py")
}
"""Triton kernels: their arguments are addresses and sizes that the module's docstring explains once."""
DOCUMENTS = sorted(
    path
    for place in (".", "docs", "weights", "src", "tests", "examples", ".github")
    for path in (ROOT.glob("*.md") if place == "." else (ROOT / place).rglob("*.md"))
)
WIDTH = 120
MOST_LINES = 300
MOST_STATEMENT_LINES = 60
"""Lines of a function besides its docstring."""
MOST_MODULES = 12
ONE_FOR_EACH = {SOURCE / "cli" / "commands", SOURCE / "cli" / "parsers", SOURCE / "data" / "readers"}
"""Folders that hold one module for each command or dataset, however many there are."""
FRAGMENT = re.compile(
    r"(Of|That|Those|On which|In which|From which|See|The same|Likewise|At most|At least|As|Is called|Its own)\b"
)
"""Beginnings that need something outside of the docstring as their subject."""
METAPHORS = re.compile(
    r"\b(nobody|somebody|everybody|whoever|wish(es)?|hires?|judges?|hears|weather|diary|last words)\b", re.IGNORECASE
)
"""Words that make people of programs, or pictures of facts."""
LEAST_WORDS = 4


def functions(path):
    """Every function of a module, with whether it is public: no part of its dotted name begins with an underscore."""
    found = []

    def walk(node, public):
        for child in getattr(node, "body", []):
            if isinstance(child, ast.ClassDef):
                walk(child, public and not child.name.startswith("_"))
            elif isinstance(child, ast.FunctionDef):
                found.append((child, public and not child.name.startswith("_")))

    walk(ast.parse(path.read_text(encoding="utf-8")), public=True)
    return found


def parameters(function):
    """Those that a caller has to understand; one that is not used is named with an underscore."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def test_files_are_short():
    native = [path for path in (SOURCE / "native" / "source").iterdir() if path.suffix in (".h", ".cpp")]
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (*MODULES, *native)}
    assert len(native) > 20
    assert {path.name: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_functions_are_short():
    long = {}
    for path in MODULES:
        for function, _ in functions(path):
            docstring = ast.get_docstring(function, clean=False) or ""
            length = function.end_lineno - function.lineno + 1 - len(docstring.splitlines())
            if length > MOST_STATEMENT_LINES:
                long[f"{path.name}:{function.name}"] = length
    assert long == {}


@pytest.mark.parametrize("path", [path for path in MODULES if path not in KERNELS], ids=lambda path: str(path.name))
def test_public_functions_of_three_parameters_explain_them(path):
    """An override is explained where it is declared first, an overload where it is defined."""
    silent = [
        f"{function.name}, line {function.lineno}"
        for function, public in functions(path)
        if public and len(parameters(function)) >= 3 and "Args:" not in (ast.get_docstring(function) or "")
        if not {"override", "overload"} & {ast.unparse(decorator) for decorator in function.decorator_list}
    ]
    assert silent == []


def docstrings(path):
    """Every docstring of a module: its line, its text, and whether it stands behind an attribute or a constant."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = node.body if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else []
        for number, child in enumerate(body):
            value = child.value if isinstance(child, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.append((child.lineno, value.value, number > 0))
    return found


def test_no_folder_is_a_flat_list_of_more_than_a_dozen_modules():
    """A longer list is the sign that a room is missing."""
    folders = {path.parent for path in MODULES} - ONE_FOR_EACH
    lengths = {folder: len(list(folder.glob("[a-z]*.py"))) for folder in folders}
    assert len(folders) > 30
    assert {str(folder): length for folder, length in lengths.items() if length > MOST_MODULES} == {}


def test_docstrings_are_no_fragments():
    fragments = [
        f"{path.relative_to(SOURCE)}:{line} {text[:60]}"
        for path in MODULES
        for line, text, is_attribute in docstrings(path)
        if FRAGMENT.match(text) and (is_attribute or not text.startswith(("At ", "As ")))
    ]
    assert fragments == []


def test_docstrings_state_facts():
    pictures = [
        f"{path.relative_to(SOURCE)}:{line} {found[0]}"
        for path in MODULES
        for line, text, _ in docstrings(path)
        if (found := METAPHORS.search(text))
    ]
    assert pictures == []


def test_public_functions_have_more_than_three_words():
    """``parser`` of a command is explained by the module, whose text is the help."""
    short = [
        f"{path.relative_to(SOURCE)}:{function.lineno} {function.name}"
        for path in MODULES
        for function, public in functions(path)
        if public and 0 < len((ast.get_docstring(function) or "").split()) < LEAST_WORDS
    ]
    assert short == []


def prose(text):
    """The numbered lines of a Markdown text that can be wrapped: no tables, pictures, headings or code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        fenced ^= line.lstrip().startswith("```")
        if not fenced and not line.startswith("    ") and not line.lstrip().startswith(("|", "!", "#", "<", "```")):
            yield number, line


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_markdown_wraps(path):
    """A line that is one word, such as a long link, may stick out."""
    long = [number for number, line in prose(path.read_text(encoding="utf-8")) if len(line) > WIDTH and " " in line]
    assert long == []
