"""The folder of a run that took one step."""

import json

from somamba.report.sources import gather


def made_run(folder, *, place="best", config="recipe: {model: unet}\nstep: 3\n"):
    (folder / place).mkdir(parents=True)
    (folder / place / "config.yaml").write_text(config)
    (folder / "journal.jsonl").write_text(json.dumps({"event": "step", "step": 1, "loss": 0.5}))
    return folder


def taken(*paths):
    """What a report finds there."""
    return gather(paths)
