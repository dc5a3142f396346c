"""A checkpoint knows the code that made it, and never claims somebody else's commit."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import somamba.runtime.provenance as provenance
from somamba.runtime.provenance import code_record, commit


def test_the_record_names_versions_and_commit():
    record = code_record()
    assert set(provenance.PACKAGES) < set(record)
    assert re.fullmatch(r"[0-9a-f]{40}(\+changes)?|unknown", record["commit"])
    assert record["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}")


def test_a_copy_inside_somebody_elses_repository_has_no_commit(tmp_path, monkeypatch):
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    subprocess.run([git, "init", "--quiet", tmp_path], check=True)
    (tmp_path / "provenance.py").write_bytes(Path(provenance.__file__).read_bytes())
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "provenance.py"))
    assert commit() == "unknown"


def test_without_git_the_commit_is_unknown(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit() == "unknown"
