"""Trainings in forked processes, started as a program of its own: torch is imported once, and no thread is running yet.

``python forked.py kill FOLDER WAY POINTS``   kill a training at so many points of its writing, resume each, compare
``python forked.py gloo FOLDER``              train and evaluate with one and with two processes, compare
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
from somamba.results.journal import read_journal
from somamba.runtime.processes import joined
from somamba.training.run.anneal import begin_annealing
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


def trainings(folder):
    """Ways to train, by name: a function of the folder of the run and whether to resume."""
    data = write_data(folder)
    plain = tiny_recipe(data)
    averaged = replace(plain.optimiser, schedule="constant", ema=0.9)
    constant = replace(plain, optimiser=averaged, mirror=True, turn=True)
    origin, going_on = folder / "origin", folder / "going_on"
    assert exit_code(in_child(lambda: run(replace(plain, seed=3, epochs=1), origin))) == 0
    hurried = replace(constant, machine=replace(constant.machine, max_minutes=1e-9))
    assert exit_code(in_child(lambda: run(hurried, going_on))) == 0  # Stops after one step, half an epoch.

    def anneal(place, resume):
        options = [f"--data.path={data.path}", f"--data.cache={data.cache}"]
        run(begin_annealing(going_on, place, 1.5, options, resume=resume), place, resume=True)

    return {
        "plain": lambda place, resume: run(plain, place, resume=resume),
        "constant": lambda place, resume: run(constant, place, resume=resume),
        "start_from": lambda place, resume: run(constant, place, resume=resume, origin=origin / "best"),
        "anneal": anneal,
    }


def kill(folder, way, points):
    """Kill, resume, compare; prints what each point ended with."""
    train = trainings(folder)[way]
    assert exit_code(in_child(lambda: train(folder / "reference", False))) == 0
    assert exit_code(in_child(lambda: (die_at(0, folder / "calls"), train(folder / "counted", False)))) == 0
    calls = json.loads((folder / "calls").read_text())
    wanted = sums(folder / "reference")
    results = []
    for number in sorted({1 + i * (len(calls) - 1) // (points - 1) for i in range(points)}):
        place = folder / f"killed{number}"
        killed = exit_code(in_child(lambda: (die_at(number), train(place, False))))  # noqa: B023
        resumed = exit_code(in_child(lambda: train(place, True)))  # noqa: B023
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
        (folder / f"scores{world.size}-{world.rank}").write_text(json.dumps(repr(scores)))
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
    kill(where, sys.argv[3], int(sys.argv[4])) if sys.argv[1] == "kill" else gloo(where)
