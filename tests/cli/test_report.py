"""somamba report writes one file, without torch and without matplotlib."""

import subprocess
import sys

from results.made_gallery import write_gallery
from results.made_rows import rows
from results.made_run import made_run
from somamba.cli.main import main
from somamba.results.scores import write_scores

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
    write_scores(tmp_path / "a.csv", rows("unet", "acdc", 4))
    made_run(tmp_path / "run")
    words = [str(tmp_path / name) for name in ("kept", "a.csv", "run")]
    words += ["-o", str(tmp_path / "page.html"), "--slices", "2", "--title", "Mine"]
    done = subprocess.run([sys.executable, "-c", ALONE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "<title>Mine</title>" in page
    assert f"somamba report {tmp_path.name}/kept {tmp_path.name}/a.csv {tmp_path.name}/run -o page.html" in page


def test_the_folders_of_this_machine_are_not_told(tmp_path, capsys):
    write_scores(tmp_path / "a.csv", rows("unet", "acdc", 4))
    assert main(["report", str(tmp_path / "a.csv"), "-o", str(tmp_path / "r.html")]) == 0
    assert str(tmp_path.parent) not in (tmp_path / "r.html").read_text()
    assert "MB" in capsys.readouterr().out


def test_what_is_no_source_is_refused_and_nothing_is_written(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("a,b\n")
    assert main(["report", str(tmp_path / "x.csv"), "-o", str(tmp_path / "r.html")]) == 2
    assert "nothing a report is made of" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "x.csv"), "--slices", "0"]) == 2
    assert not (tmp_path / "r.html").exists()
