"""The records of an evaluation name the command that repeats it."""

import pytest

from somamba.data.config import DataConfig
from somamba.data.phantom import write_phantom
from somamba.evaluation.evaluate import evaluate
from somamba.evaluation.spec import EvaluationSpec, run_evaluation
from somamba.inference.weights.trained import open_model


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_phantom("acdc", folder / "acdc", cases={"train": 4, "test": 3}, slices=2)
    return DataConfig(path=str(folder / "acdc"), cache=str(folder / "cache"), size=(16, 16))


def test_the_rows_are_those_of_the_split(data):
    asked = EvaluationSpec(source="zero_filled", data=data, limit_cases=2)
    batches = []
    result = run_evaluation(
        open_model("zero_filled"), asked, on_progress=lambda done, count: batches.append((done, count))
    )
    rows = result.records()
    assert [(row.case, row.psnr) for row in rows] == [(one.case, one.scores.psnr) for one in result.scores]
    assert result.scores == evaluate(open_model("zero_filled").model, result.dataset)
    assert {(row.subject.method, row.setting.split, row.cases, row.split_cases) for row in rows} == {
        ("zero_filled", "test", 2, 3)
    }
    assert batches == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_the_command_names_what_decides_and_no_place(data):
    asked = EvaluationSpec(source="/somewhere/runs/x/best", data=data, split="val", limit_cases=3, force=True)
    assert asked.command() == (
        "somamba evaluate runs/x/best --dataset acdc --data $DATA --split val --protocol magnitude --acceleration 4 "
        "--limit-cases 3 --force"
    )
    assert "runs/x/best" in EvaluationSpec(source="runs/x/best", data=data).command()
    absolute = EvaluationSpec(source="/home/somebody/runs/sweep/so_mamba/best", data=data)
    assert "evaluate sweep/so_mamba/best --dataset" in absolute.command()
