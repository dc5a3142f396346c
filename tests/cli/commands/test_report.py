"""somamba report writes one file, without torch and without matplotlib."""

import json
import subprocess
import sys

import pytest

from results.made_gallery import write_gallery
from results.made_rows import rows
from results.made_run import made_run
from somamba.cli.main import main
from somamba.results.record import write_records

ALONE = """
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "matplotlib"):
            raise ImportError(f"{name} was asked for")

sys.meta_path.insert(0, Gone())
from somamba.cli.main import main
sys.exit(main(["report", *sys.argv[1:]]))
"""


def test_a_page_is_made_where_torch_and_matplotlib_cannot_be_imported(tmp_path):
    write_gallery(tmp_path / "kept")
    write_records(tmp_path / "a.csv", rows("unet", "acdc", 4))
    made_run(tmp_path / "run")
    words = [str(tmp_path / name) for name in ("kept", "a.csv", "run")]
    words += ["-o", str(tmp_path / "page.html"), "--slices", "2", "--title", "Mine"]
    done = subprocess.run([sys.executable, "-c", ALONE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "<title>Mine</title>" in page
    assert f"somamba report {tmp_path.name}/kept {tmp_path.name}/a.csv {tmp_path.name}/run -o page.html" in page


def test_the_folders_of_this_machine_are_not_told(tmp_path, capsys):
    write_records(tmp_path / "a.csv", rows("unet", "acdc", 4))
    assert main(["report", str(tmp_path / "a.csv"), "-o", str(tmp_path / "r.html")]) == 0
    assert str(tmp_path.parent) not in (tmp_path / "r.html").read_text()
    assert "MB" in capsys.readouterr().out


def test_what_is_no_source_is_refused_and_nothing_is_written(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("a,b\n")
    assert main(["report", str(tmp_path / "x.csv"), "-o", str(tmp_path / "r.html")]) == 2
    assert "nothing a report is made of" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "x.csv"), "--slices", "0"]) == 2
    assert not (tmp_path / "r.html").exists()


ODD = [None, True, -1, 2**70, 1e400, "", "x\u202ey\x1b[2J", [], [1], {}, {"a": [1]}, [[1]], [None] * 3]


@pytest.mark.parametrize("name", ["measurement", "so_mamba"])
def test_a_mistyped_gallery_is_refused_or_shown_and_never_fails(tmp_path, name, capsys):
    write_gallery(tmp_path / "kept", cases=("a",), labels=("so_mamba",))
    path = tmp_path / "kept" / "a" / f"{name}.json"
    good = json.loads(path.read_text())
    for field in good:
        for value in ODD:
            path.write_text(json.dumps(good | {field: value}))
            code = main(["report", str(tmp_path / "kept"), "-o", str(tmp_path / "r.html")])
            shown = capsys.readouterr()
            assert code in (0, 2), (field, value)
            assert "\x1b" not in shown.out + shown.err
            if code == 0:
                assert "\u202e" not in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("config", ["recipe: {model: [1], seed: x}", "code: [1]", "recipe: 3", "step: {a: b}\nmask: 3"])
def test_a_mistyped_config_or_journal_is_shown_or_refused(tmp_path, config):
    run = made_run(tmp_path / "run", config=config)
    odd = [{"event": "step", "step": 1, "loss": value, "seconds": value, "time": value} for value in ODD]
    odd += [{"event": "start", "step": 0, "timed": value} for value in ODD]
    (run / "journal.jsonl").write_text("\n".join(json.dumps(one) for one in odd))
    assert main(["report", str(run), "-o", str(tmp_path / "r.html")]) in (0, 2)


def test_a_config_that_doubles_itself_is_refused(tmp_path, capsys):
    levels = [f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]" for i in range(1, 9)]
    run = made_run(tmp_path / "run", config="\n".join(["x0: &x0 [a]", *levels, "code: {commit: *x8}"]))
    assert main(["report", str(run), "-o", str(tmp_path / "r.html")]) == 2
    assert "aliases" in capsys.readouterr().err
