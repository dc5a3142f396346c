"""Trainings in forked processes, started as a program of its own: torch is imported once, and no thread is running yet.

``python forked.py kill FOLDER POINTS``   kill a training at so many points of its writing, resume each, compare
``python forked.py gloo FOLDER``          train and evaluate with one and with two processes, compare
"""

import json
import os
import signal
import socket
import sys
import traceback
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import torch._dynamo  # Every optimiser imports it; here once, not in every child.

from somamba.data.slices import open_slices
from somamba.evaluation.evaluate import evaluate
from somamba.runtime.processes import joined
from somamba.training.journal import read_journal
from training.tiny import TinyNetwork, run, sums, tiny_recipe, write_data

CALLS = ("write", "fsync", "rename", "mkdir", "unlink", "rmdir")


def in_child(work):
    """Start a function in a forked process."""
    child = os.fork()
    if child:
        return child
    try:
        torch.set_num_threads(1)
        work()
    except BaseException:  # noqa: BLE001 - whatever it was, the parent must hear of it
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die_at(number, report=None):
    """Count the calls that change the disk and kill this process at one of them; a write gets half its bytes out."""
    made = []

    def counted(name, real):
        def call(*arguments, **options):
            made.append(name)
            if report is not None:
                report.write_text(json.dumps(made))
            if len(made) == number:
                if name == "write":
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return call

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))


def kill(folder, points):
    """Kill, resume, compare; prints what each point ended with."""
    recipe = tiny_recipe(write_data(folder))
    assert exit_code(in_child(lambda: run(recipe, folder / "reference"))) == 0
    assert exit_code(in_child(lambda: (die_at(0, folder / "calls"), run(recipe, folder / "counted")))) == 0
    calls = json.loads((folder / "calls").read_text())
    wanted = sums(folder / "reference")
    results = []
    for number in sorted({1 + i * (len(calls) - 1) // (points - 1) for i in range(points)}):
        place = folder / f"killed{number}"
        killed = exit_code(in_child(lambda: (die_at(number), run(recipe, place))))  # noqa: B023
        resumed = exit_code(in_child(lambda: run(recipe, place, resume=True)))  # noqa: B023
        journal = read_journal(place / "journal.jsonl")
        steps, validations = ([e["step"] for e in journal if e["event"] == kind] for kind in ("step", "validation"))
        same = resumed == 0 and sums(place) == wanted
        result = {"call": calls[number - 1], "killed": killed, "resumed": resumed, "same": same}
        results.append(result | {"steps": steps, "validations": validations})
    sys.stdout.write(json.dumps(results))


def together(processes, work):
    """Run a function in so many processes that join as under ``torchrun``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    def start(rank):
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes)}
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        with joined("cpu") as world:
            work(world)

    children = [in_child(lambda rank=rank: start(rank)) for rank in range(processes)]
    assert [exit_code(child) for child in children] == [0] * processes


def gloo(folder):
    """Train and evaluate with one and two processes; prints losses, evaluations and where a budget ended."""
    data = write_data(folder)
    recipe = tiny_recipe(data, machine={"micro_batch": 1})

    def work(world):
        place = folder / str(world.size)
        model = TinyNetwork(dropout=0.0)
        run(recipe, place, world=world, model=model)
        torch.manual_seed(5)
        fresh = TinyNetwork().eval()
        scores = evaluate(fresh, open_slices(data, "test"), batch_size=2, processes=world)
        (folder / f"scores{world.size}-{world.rank}").write_text(json.dumps(scores))
        timed = run(replace(recipe, minutes=0.003), folder / f"timed{world.size}", world=world).progress
        (folder / f"ended{world.size}-{world.rank}").write_text(json.dumps([timed.step, timed.seconds]))

    together(1, work)
    together(2, work)
    losses = {
        n: [e["loss"] for e in read_journal(folder / str(n) / "journal.jsonl") if e["event"] == "step"] for n in (1, 2)
    }
    found = {
        kind: {name: json.loads((folder / f"{kind}{name}").read_text()) for name in ("1-0", "2-0", "2-1")}
        for kind in ("scores", "ended")
    }
    sys.stdout.write(json.dumps({"losses": losses, **found}))


if __name__ == "__main__":
    where = Path(sys.argv[2])
    kill(where, int(sys.argv[3])) if sys.argv[1] == "kill" else gloo(where)
