"""Apply deliberate mistakes one by one in a copy of the project, and check that the tests catch every one of them.

python tests/mutants/run.py [WORDS ...]

With words only those mistakes whose topic or name contains one of them, so that a run can be split: each topic is a
word. A mistake is caught if one of the tests that it names fails, and the same test passes without the mistake. The
text that a mistake replaces must occur exactly once in the package: a mistake that no longer fits the source is an
error, not a success. Packages of others are imported once, and every mistake is tested in a process forked from that.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PROJECT = TESTS.parent
sys.path.insert(0, str(TESTS))

from mutants import compared, evaluation, native, physics, scan, scans, so_mamba, training  # noqa: E402
from mutants.mistake import Mistake  # noqa: E402

TOPICS = {
    "physics": physics.MISTAKES,
    "scan": scan.MISTAKES,
    "so_mamba": so_mamba.MISTAKES,
    "compared": compared.MISTAKES,
    "training": training.MISTAKES,
    "evaluation": evaluation.MISTAKES,
    "scans": scans.MISTAKES,
    "native": native.MISTAKES,
}
OF_OTHERS = ("torch._dynamo", "torch.distributed", "scipy.stats", "matplotlib.pyplot", "h5py", "nibabel", "yaml")
"""What takes seconds to import and no mistake touches: it is imported before the forks."""
PASSED, FAILED = 0, 1  # exit codes of pytest; any other one means that the tests did not run


def main(words: list[str]) -> int:
    """Test all mistakes that the words name; the number of those that were not caught is the exit code."""
    chosen = [
        (topic, mistake)
        for topic, mistakes in TOPICS.items()
        for mistake in mistakes
        if not words or any(word in f"{topic}: {mistake.name}" for word in words)
    ]
    for name in OF_OTHERS:
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        copy = Path(folder) / "project"
        copy_project(copy)
        places = {mistake: find(copy, mistake) for _, mistake in chosen}
        missed = [mistake for topic, mistake in chosen if not caught(copy, topic, mistake, places[mistake])]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} mistakes were caught.")
    return len(missed)


def copy_project(copy: Path) -> None:
    """Copy what git knows or would add, and the compiled kernels."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.split("\0")
    kernels = [str(path.relative_to(PROJECT)) for path in (PROJECT / "src").rglob("*.so")]
    for name in [*filter(None, names), *kernels]:
        if (PROJECT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, copy / name)


def find(copy: Path, mistake: Mistake) -> Path:
    """Return the one file that holds the text to be replaced."""
    counts = {path: path.read_text(encoding="utf-8").count(mistake.old) for path in (copy / "src").rglob("*.py")}
    if sum(counts.values()) != 1:
        raise SystemExit(f"{mistake.name!r}: its text occurs {sum(counts.values())} times, not once:\n{mistake.old}")
    return next(path for path, count in counts.items() if count)


def caught(copy: Path, topic: str, mistake: Mistake, path: Path) -> bool:
    """Make the mistake, run its tests, undo it; then see that the test which failed passes now."""
    start = time.monotonic()
    right = path.read_text(encoding="utf-8")
    path.write_text(right.replace(mistake.old, mistake.new), encoding="utf-8")
    try:
        code = run(copy, shlex.split(mistake.tests))
    finally:
        path.write_text(right, encoding="utf-8")
    word = {FAILED: "caught", PASSED: "MISSED"}.get(code, f"ERROR {code}")
    test = (copy / "failed").read_text(encoding="utf-8") if code == FAILED else ""
    if test and not passes(copy, test):
        word = "ERROR: without the mistake too"
    by = f"by {test} " if test else ""
    print(f"{word:<8} {topic}: {mistake.name} {by}({time.monotonic() - start:.0f} s)", flush=True)
    if word not in ("caught", "MISSED"):
        print((copy / "output").read_text(encoding="utf-8")[-3000:])
    return word == "caught"


@cache
def passes(copy: Path, test: str) -> bool:
    """Whether one test passes without any mistake."""
    return run(copy, [test.removeprefix("tests/")]) == PASSED


def run(copy: Path, tests: Sequence[str]) -> int:
    """Run tests of the copy in a process of its own, up to the first failure; their output goes to a file."""
    if process := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code = 4
    try:
        os.chdir(copy / "tests")
        with (copy / "output").open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        sys.path[:] = [str(copy / "src"), *(entry for entry in sys.path if entry != str(TESTS))]
        for name in [name for name in sys.modules if name.partition(".")[0] == "mutants"]:
            del sys.modules[name]
        sys.dont_write_bytecode = True
        arguments = ["-q", "-x", "-p", "no:cacheprovider", "--rootdir", str(copy), "-c", str(copy / "pyproject.toml")]
        code = int(pytest.main([*arguments, *tests], plugins=[FirstFailure(copy / "failed")]))
        import somamba

        if not Path(somamba.__file__).is_relative_to(copy):
            print(f"The tests ran {somamba.__file__}, not the copy.")
            code = 4
    finally:
        sys.stdout.flush()
        os._exit(code)


class FirstFailure:
    """A plugin of pytest that writes the name of the test that failed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest after each phase of a test."""
        if report.failed:
            self.path.write_text(report.nodeid, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
