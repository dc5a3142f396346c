"""What the documents say is true: links, commands with their options, recipes, the paper map, code that runs."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
import yaml

from inference.checkpoints import save_tiny
from native.machine import needs_native
from raw.made import coil_kspace, write_fastmri
from somamba.cli.main import COMMANDS, parser_of
from somamba.training.recipe import read_recipe
from somamba.training.sweep.grid import read_grid

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "somamba"
PLACES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "weights").rglob("*.md"), *SOURCE.rglob("*.md")]
DOCUMENTS = sorted(PLACES)


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
def test_a_command_writes_rows_to_the_folder_that_the_sentence_before_it_names(path):
    for sentence, rows in re.findall(
        r"(\S[^\n]*:)\n\n {4}[^\n]* --csv (results/\S+)", path.read_text(encoding="utf-8")
    ):
        named = re.findall(r"`(results/[^`]+)`", sentence)
        assert not named or rows.startswith(named[-1])


def test_one_document_says_how_long_a_slice_takes():
    """Figures in two places contradict each other sooner or later."""
    answer = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8").split("**Do I need a GPU?**")[1].split("**")[0]
    assert "(reconstruct.md#time-and-memory)" in answer
    assert "seconds" not in answer


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


@cache
def identifiers(path):
    """Every name that a Python file defines or uses, and its short strings: keys of tables are names too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for field in ("id", "attr", "arg", "name"):
            found |= {getattr(node, field, None)}
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            found.add(node.value)
    return found


def test_the_paper_map_names_symbols_that_are_there():
    """Those of a row are in the files of that row, or anywhere if it names none."""
    everywhere = set().union(*map(identifiers, SOURCE.rglob("*.py")))
    checked = 0
    for line in (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8").splitlines():
        spans = re.findall(r"`([^`]+)`", line) if line.startswith("|") else []
        names = [span for span in spans if span.endswith(".py")]
        files = [path for path in SOURCE.rglob("*.py") for name in names if str(path).endswith(f"/{name}")]
        known = set().union(*map(identifiers, files)) if files else everywhere
        for span in spans:
            if re.fullmatch(r"\.?[A-Za-z_][\w.]*(\(.*\))?", span) and span not in names:
                for word in re.findall(r"[A-Za-z_]\w*", span):
                    checked += 1
                    assert word in known or word in COMMANDS, f"{span} in: {line}"
    assert checked > 80


def shell_of(path):
    """The indented blocks of a document, all of which are shell; what is fenced says what it is."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"(?<=\n\n)((?: {4}.*\n|\n(?= {4}))+)", text)
    return [re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for block in blocks]


PROGRAMS = {"somamba", "make", "python", "python3", "pip", "ray", "torchrun", "git", "cd", "source", "auditwheel"}
PROGRAMS |= {"huggingface-cli", "twine"}
VARIABLES = {"$SLURM_ARRAY_TASK_ID": "7", "$DATA": "data"}
WITH_SHELL = [path for path in DOCUMENTS if shell_of(path)]


def lines_of(path):
    """Every command of a document as words, without comments; continued lines are joined."""
    for block in shell_of(path):
        for line in block.replace("\\\n", " ").splitlines():
            for variable, value in VARIABLES.items():
                line = line.replace(variable, value)
            words = shlex.split(line, comments=True)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words = words[1:]
            if "&&" in words:
                words = words[: words.index("&&")]
            if words:
                yield line, words


@pytest.mark.parametrize("path", WITH_SHELL, ids=lambda path: str(path.relative_to(ROOT)))
def test_shell_blocks_are_shell(path):
    for block in shell_of(path):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True)
    for line, words in lines_of(path):
        assert Path(words[0]).name in PROGRAMS, line


def check_command(command, words):
    """Let the real parser read a command line; of a recipe that exists every field must exist, too."""
    options = parser_of(command).parse_args(words)
    if command not in ("train", "sweep"):
        return
    path, fields = options.path, options.fields
    if path.suffix == ".yaml":
        assert path.is_file()
        if command == "train":
            read_recipe(path, fields)
        else:
            read_grid(path, fields)
    else:
        assert options.anneal is not None


@pytest.mark.parametrize("path", WITH_SHELL, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_line_is_understood_by_the_program(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line, words in lines_of(path):
        program = Path(words[0]).name
        if program == "torchrun":
            program, words = "somamba", words[words.index("somamba") :]
        if program == "somamba":
            check_command(words[1], words[2:])
        elif program == "make":
            assert set(words[1:2]) <= targets, line
        elif program == "python" and words[1:2] != ["-m"]:
            assert (ROOT / words[1]).is_file(), line
        for extras in re.findall(r"somamba\[([\w,]+)\]", line):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), line


FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {path: FENCE.findall(path.read_text(encoding="utf-8")) for path in DOCUMENTS}
PYTHON = {path: [body for kind, body in blocks if kind == "python"] for path, blocks in BLOCKS.items()}


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if BLOCKS[path]], ids=lambda p: str(p.relative_to(ROOT)))
def test_fenced_blocks_say_what_they_are(path):
    for kind, body in BLOCKS[path]:
        assert kind in ("python", "yaml", "text"), body
        if kind == "yaml":
            assert isinstance(yaml.safe_load(body), dict)


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if PYTHON[path]], ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks_run(path, tmp_path, monkeypatch):
    """One after another, as a reader would type them, in a folder with a scan; weights of a hub were fetched before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    save_tiny(tmp_path / "cache" / "somamba" / "hub" / "lab" / "knee" / "v1")
    kspace = coil_kspace(4, 48, 40)
    kspace[..., 1::2] *= np.abs(np.arange(1, 40, 2) - 20) < 9
    np.save("kspace.npy", kspace)
    write_fastmri(Path("scan.h5"), kspace=kspace[None])
    names = {"__name__": "__main__"}
    for number, block in enumerate(PYTHON[path]):
        exec(compile(block, f"{path.name}, block {number + 1}", "exec"), names)


def test_the_readme_fits_two_screens():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert sum(max(1, -(-len(line) // 120)) for line in lines) <= 2 * SCREEN


SCREEN = 50
"""Lines of a screen."""


def test_every_import_is_declared():
    """A package that comes only because another one needs it may be gone tomorrow."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    declared = {re.match(r"[\w.-]+", text)[0].lower().replace("_", "-") for text in wanted}
    imported = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            imported |= {module.partition(".")[0] for module in modules}
    imported -= {*sys.stdlib_module_names, "somamba", "triton"}  # builds of PyTorch for CUDA bring triton
    owners = packages_distributions()
    for module in imported:
        names = {name.lower().replace("_", "-") for name in owners.get(module, [module])}
        assert names & declared, module


def test_the_wheel_carries_no_journal():
    code = (
        "from setuptools import Distribution\n"
        "one = Distribution({'script_name': 'setup.py'}); one.parse_config_files()\n"
        "build = one.get_command_obj('build_py'); build.ensure_finalized()\n"
        "print(*(f'{folder}/{name}' for _, folder, _, names in build.data_files for name in names), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = done.stdout.split()
    assert any(name.endswith("model.safetensors") for name in files)
    assert not [name for name in files if name.endswith(".jsonl")]


def test_a_release_has_one_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    said = {
        "CITATION.cff": rf"^version: {version}$",
        "recipe/recipe.yaml": rf'^  version: "{version}"$',
        "CHANGELOG.md": rf"^## \[{version}\] - \d{{4}}-\d\d-\d\d$",
    }
    for name, pattern in said.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(pattern.replace(".", r"\."), text, re.MULTILINE), name


def test_contributing_states_the_layers_that_are_checked():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = {contract["name"]: contract["layers"] for contract in contracts if "layers" in contract}
    assert "```text\n" + "\n".join(layers["data flows one way"]) + "\n```" in text
    assert " > ".join(layers["so_mamba reads top-down"]) in text


def test_the_architecture_is_that_of_the_repository():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    house, layers, *_ = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {line.split()[0] for line in house.splitlines()} == packages
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    assert layers.splitlines() == next(one["layers"] for one in contracts if one["name"] == "data flows one way")
    named = re.findall(r"`((?:\w+/)*\w+\.py)`", text)
    assert len(set(named)) > 60
    assert [name for name in named if not (SOURCE / name).is_file()] == []
    rooms = set(re.findall(r"`(\w+(?:/\w+)*)`", text.split("## The room of a line")[1]))
    assert all((SOURCE / room).is_dir() for room in rooms)
    assert {path.name for path in SOURCE.glob("[a-z]*.py")} <= set(named)


@needs_native
def test_reconstruct_goes_the_way_that_the_architecture_names():
    """The script runs a real reconstruction; of the files that the page names, the child's and a table call nothing."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    way = text.split("### `somamba reconstruct")[1].split("Arrays in memory")[0]
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", way)) - {"files/reader_process.py", "models/zoo.py"}
    script = ROOT / "benchmarks" / "files_touched.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    touched = set(re.findall(r"^((?:\w+/)*\w+\.py)$", done.stdout, re.MULTILINE))
    assert named - touched == set()
    outside = {name for name in touched if name.split("/")[0] not in ("models", "physics", "scan", "native")}
    most = re.search(r"At most (\d+) files lead to the network and back", " ".join(text.split()))
    assert len(outside) <= int(most[1])
    assert not any(name.startswith("data/") for name in touched)
