"""What is given to a report is recognised by what it holds, or refused with what was wanted."""

import pytest

from results.made_costs import cost_row
from results.made_gallery import write_gallery
from results.made_leakage import leakage_rows
from results.made_rows import changed, rows
from results.made_run import made_run, taken
from results.made_sweep import sweep_row
from somamba.errors import InputError
from somamba.results.cost import write_costs
from somamba.results.leakage import write_leakage
from somamba.results.scores import write_scores
from somamba.results.sweep import write_sweep


def test_everything_is_known_by_its_content_not_its_name(tmp_path):
    write_scores(tmp_path / "a.txt", rows("unet", "acdc", 4))
    write_leakage(tmp_path / "b.csv", leakage_rows())
    write_costs(tmp_path / "d.csv", [cost_row("so_mamba")])
    write_gallery(tmp_path / "kept")
    (tmp_path / "c").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    run = made_run(tmp_path / "run")
    write_scores(run / "val.csv", rows("so_mamba", "acdc", 4))
    found = taken(*(tmp_path / name for name in ("a.txt", "b.csv", "d.csv", "kept", "c", "run")))
    assert {row.subject.method for row in found.scores} == {"unet", "so_mamba"}
    assert found.leakage == leakage_rows()
    assert found.costs == [cost_row("so_mamba")]
    assert len(found.cases) == 2
    assert list(found.pictures) == ["c"]
    assert found.runs[0].recipe == "model: unet\n"
    assert found.runs[0].events[0]["loss"] == 0.5


def test_the_folder_of_a_sweep_gives_its_runs(tmp_path):
    made_run(tmp_path / "sweep" / "one")
    made_run(tmp_path / "sweep" / "two", place="last")
    assert [run.name for run in taken(tmp_path / "sweep").runs] == ["one", "two"]


def test_the_folder_of_a_sweep_gives_its_summaries_once(tmp_path):
    made_run(tmp_path / "sweep" / "one")
    write_sweep(tmp_path / "sweep" / "a.csv", [sweep_row("one"), sweep_row("two")])
    write_sweep(tmp_path / "sweep" / "b.csv", [sweep_row("two"), sweep_row("three")])
    write_scores(tmp_path / "sweep" / "c.csv", rows("so_mamba", "acdc", 4))
    assert [row.run for row in taken(tmp_path / "sweep").sweep] == ["one", "two", "three"]
    assert taken(tmp_path / "sweep" / "a.csv").sweep == [sweep_row("one"), sweep_row("two")]


def test_runs_of_one_name_are_told_apart(tmp_path):
    runs = [made_run(tmp_path / sweep / "unet") for sweep in ("a", "b")]
    assert [run.name for run in taken(*runs).runs] == ["a/unet", "b/unet"]
    (runs[0] / "best" / "config.yaml").unlink()
    assert [run.model for run in taken(*runs).runs] == ["unet", "unet"], "one method, so one colour"
    with pytest.raises(InputError, match=r"same run was given twice: .*/a/unet\."):
        taken(runs[0], runs[0])


def test_scores_tell_the_method_and_the_seed_of_a_run_without_checkpoints(tmp_path):
    run = made_run(tmp_path / "so_mamba_seed3", config="step: 3\n")
    write_scores(run / "val.csv", [changed(row, seed=3) for row in rows("so_mamba", "acdc", 4)])
    (found,) = taken(run).runs
    assert (found.name, found.model, found.seed) == ("so_mamba_seed3", "so_mamba", 3)


def test_what_is_not_known_is_refused_with_what_was_wanted(tmp_path):
    (tmp_path / "notes.txt").write_text("hello there\n")
    (tmp_path / "empty").mkdir()
    for path, words in (
        (tmp_path / "notes.txt", "begins with 'hello there'. Wanted: the folder of a run"),
        (tmp_path / "empty", "it holds nothing. Wanted"),
        (tmp_path, "it holds empty, notes.txt. Wanted"),
        (tmp_path / "gone", "No such file or directory. Wanted"),
    ):
        with pytest.raises(InputError) as error:
            taken(path)
        assert words in str(error.value)


def test_a_damaged_config_is_named(tmp_path):
    for number, text in enumerate(("a: [", "- 1", "!!python/object:os.system {}")):
        run = made_run(tmp_path / str(number), config=text)
        with pytest.raises(InputError, match=r"config.yaml is"):
            taken(run)


def test_pictures_of_one_name_are_told_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "curve.png").write_bytes(b"\x89PNG\r\n\x1a\n" + folder.encode())
    pictures = [tmp_path / folder / "curve.png" for folder in ("a", "b")]
    assert list(taken(*pictures).pictures) == ["a/curve", "b/curve"]
    with pytest.raises(InputError, match="same picture was given twice"):
        taken(pictures[0], pictures[0])
