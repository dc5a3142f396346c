"""The adaptation to a scan as a task of its own in a progress display: step, held-out residual, and time left."""

import math

from rich.progress import Progress, Task, TaskID, TimeRemainingColumn
from rich.text import Text
from typing_extensions import override

from somamba.inference.adaptation import AdaptationProgress, Adapted
from somamba.inference.plan import Job
from somamba.training.display import duration


class TimeLeftColumn(TimeRemainingColumn):
    """The time that is left: of an adaptation what it says itself, which is an upper bound, else by the pace so far."""

    @override
    def render(self, task: Task) -> Text:
        seconds = task.fields.get("seconds_left")
        if seconds is None:
            return super().render(task)
        known = "at most " + duration(seconds) if seconds < math.inf else "-"
        return Text(known, style="progress.remaining")


class AdaptationTask:
    """A task that is shown while a network is adapted; a line with what came of it stays when the task is gone."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.task: TaskID | None = None

    def __call__(self, job: Job, found: AdaptationProgress | Adapted) -> None:
        """Show how far the adaptation to the scan of a job is, or what came of it."""
        if isinstance(found, Adapted):
            if self.task is not None:
                self.progress.remove_task(self.task)
                self.task = None
            line = f"{job.source.name}: {found.record['outcome']}"
            self.progress.console.print(line, soft_wrap=True, markup=False, highlight=False)
            return
        if self.task is None:
            self.task = self.progress.add_task("adapting", total=found.steps, seconds_left=math.inf)
        self.progress.update(
            self.task,
            description=f"adapting, held-out residual {found.residual:.4f}",
            completed=found.step,
            total=found.steps,
            seconds_left=found.seconds_left,
        )
