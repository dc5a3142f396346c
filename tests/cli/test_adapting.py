"""An adaptation is a task of the progress display, and leaves one line."""

import math
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TextColumn

from somamba.cli.adapting import AdaptationTask, TimeLeftColumn
from somamba.inference.adaptation import AdaptationProgress, Adapted
from somamba.inference.plan import Job
from somamba.inference.weights.trained import open_model

JOB = Job(source=Path("scan[1].npy"), outputs=())
TRAINED = open_model("zero_filled")


def display():
    console = Console(file=StringIO(), force_terminal=True, width=100)
    return Progress(TextColumn("{task.description}"), TimeLeftColumn(), console=console, auto_refresh=False)


def test_a_task_shows_the_step_the_residual_and_the_time_that_is_left():
    progress = display()
    show = AdaptationTask(progress)
    show(JOB, AdaptationProgress(0, 200, 0.4953, math.inf))
    (task,) = progress.tasks
    assert (task.completed, task.total) == (0, 200)
    assert str(TimeLeftColumn().render(task)) == "-"
    show(JOB, AdaptationProgress(10, 200, 0.4821, 95.0))
    (task,) = progress.tasks
    assert task.description == "adapting, held-out residual 0.4821"
    assert task.completed == 10
    assert str(TimeLeftColumn().render(task)) == "at most 1 min 35 s"


def test_other_tasks_have_the_time_of_their_pace():
    progress = display()
    task = progress.add_task("slices", total=3)
    assert str(TimeLeftColumn().render(progress.tasks[task])) == "-:--:--"


def test_the_task_goes_and_one_line_stays():
    progress = display()
    show = AdaptationTask(progress)
    for _ in range(2):
        show(JOB, AdaptationProgress(0, 20, 0.5, math.inf))
        show(JOB, Adapted(trained=TRAINED, record={"outcome": "kept step 20: held-out residual 0.5 -> 0.4"}))
        assert progress.tasks == []
    line = "scan[1].npy: kept step 20: held-out residual 0.5 -> 0.4\n"
    assert progress.console.file.getvalue() == 2 * line


def test_a_scan_that_is_not_adapted_to_has_a_line_only():
    progress = display()
    AdaptationTask(progress)(JOB, Adapted(trained=TRAINED, record={"outcome": "nothing is missing"}))
    assert progress.tasks == []
    assert "nothing is missing" in progress.console.file.getvalue()
