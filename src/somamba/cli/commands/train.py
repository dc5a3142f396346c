"""``somamba train RECIPE``: train a model as a YAML file says; options override its fields."""

import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from somamba.cli.main import parser_of
from somamba.cli.output import make_console, say
from somamba.data.config import DataConfig
from somamba.errors import ConfigError
from somamba.native.memory import keep_pages
from somamba.report.loggers import Loggers
from somamba.report.names import counted
from somamba.results.journal import Event
from somamba.runtime.launch import launch, processes_for
from somamba.runtime.processes import announced_rank, announced_size
from somamba.training.display import duration, live_display, plain_display
from somamba.training.loop import Outcome, build_model, fit
from somamba.training.plan import make_plan
from somamba.training.preview import Preview, preview
from somamba.training.recipe import Recipe, asked_model, read_recipe, recipe_parser
from somamba.training.run.anneal import annealed_folder, begin_annealing
from somamba.training.run.checkpoints import start_from

RESUMABLE = 75
"""Exit code of a run that met its time limit and can be resumed: EX_TEMPFAIL, "try again"."""

FIGURES = "SOMAMBA_DRY_RUN_FIGURES"
"""Environment variable that names the file for what several processes of a dry run measured."""


def main(options: Namespace) -> None:
    """Read the recipe, train or preview, and leave with 0 only when the training is complete."""
    recipe = asked_recipe(options)
    if options.start_from is not None:
        start_from(options.start_from, build_model(recipe))  # weights that do not fit are refused before data are read
    if options.dry_run:
        say(describe(recipe, _ways(recipe, options)))
        return
    if announced_size() == 1 and (processes := processes_for(options.processes, recipe.batch_size)) > 1:
        sys.exit(launch(_for_each(options), processes))
    keep_pages(4096)
    quiet = announced_rank() != 0
    session = partial(fit, recipe, options.output, resume=options.resume, origin=options.start_from)
    if quiet:
        outcome = session()
    else:
        loggers = Loggers(options.logger, options.output)
        with live_display(make_console()) if sys.stdout.isatty() else nullcontext(plain_display(say)) as show:

            def tell(event: Event) -> None:
                show(event)
                loggers.add(event)

            try:
                outcome = session(tell=tell)
            finally:
                loggers.close()
    if not quiet:
        say(_farewell(outcome, options.output))
    if outcome.reason != "finished":
        sys.exit(RESUMABLE if outcome.signal is None else 128 + outcome.signal)


def asked_recipe(options: Namespace) -> Recipe:
    """The recipe that the command line asks for; the options get the folder of the run."""
    path, fields = options.path, options.fields
    if options.help:
        say(parser_of("train").format_help())
        # Every field of a recipe for its model, spelt as options are.
        words = recipe_parser(asked_model(path, fields)).format_help()
        say(re.sub(r"--[a-z][\w.]*", lambda name: name[0].replace("_", "-"), words))
        sys.exit(0)
    if options.anneal is not None:
        return _annealing(path, options, fields)
    if path.is_dir():
        raise ConfigError(
            f"{path} is a folder. To go on with a run, give its recipe and --resume; to make weights for use from it, "
            "give --anneal EPOCHS."
        )
    options.output = options.output or Path("runs", path.stem)
    return read_recipe(path, [*fields, *(["--print_config"] if options.print_config else [])])


def _annealing(run: Path, options: Namespace, fields: list[str]) -> Recipe:
    """The recipe of the annealed copy of a run, whose folder is made unless this is a dry run."""
    if options.start_from is not None:
        raise ConfigError("--anneal starts from the run that it is given; leave out --start-from.")
    options.output = options.output or annealed_folder(run)
    recipe = begin_annealing(run, options.output, options.anneal, fields, resume=options.resume, dry=options.dry_run)
    options.resume = True
    return recipe


def _ways(recipe: Recipe, options: Namespace) -> list[Preview]:
    """Measure one process and, on the CPU, as many as were asked for or as there are cores; the first one is ours.

    Each of several processes measures with the others, and the first of them leaves its figures in a file.
    """
    found = preview(recipe)
    if left := os.environ.get(FIGURES):
        if announced_rank() == 0:
            Path(left).write_text(json.dumps({"step": found.step_seconds, "validation": found.validation_seconds}))
        return [found]
    asked = options.processes if options.processes != "1" else "auto"
    processes = processes_for(asked, recipe.batch_size) if announced_size() == 1 and found.device == "cpu" else 1
    if processes == 1:
        return [found]
    with TemporaryDirectory() as folder:
        left = str(Path(folder, "figures.json"))
        if code := launch(_for_each(options), processes, silent=True, environment={FIGURES: left}):
            sys.exit(code)
        figures = json.loads(Path(left).read_text())
    plan = make_plan(recipe, found.training_slices, processes)
    times = {"step_seconds": figures["step"], "validation_seconds": figures["validation"]}
    return [found, replace(found, plan=plan, processes=processes, threads=1, **times)]


def _for_each(options: Namespace) -> list[str]:
    """The command of each of several processes: one thread, and an annealed copy that the parent has begun."""
    words, skip = [], False
    for word in options.arguments:
        if not skip and word.partition("=")[0] != "--processes":
            words.append(word)
        skip = word == "--processes"
    began = ["--resume"] if options.anneal is not None and not options.dry_run else []
    return [sys.executable, "-m", "somamba", "train", *words, *began, "--machine.threads=1"]


def describe(recipe: Recipe, ways: Sequence[Preview]) -> str:
    """What ``--dry-run`` prints: the recipe, and how fast it is in one process and, if measured, in several."""
    found = ways[0]
    plan, data, cost = found.plan, recipe.data, found.cost
    lines = {
        "model": f"{recipe.model}, {cost.parameters:,} parameters",
        "cost": f"{cost.module / 1e9:.1f} G MACs a slice as the paper counts, {cost.all / 1e9:.1f} G in all products, "
        f"{(cost.scan + cost.fft) / 1e9:.1f} G in scan and FFT",
        "data": f"{data.dataset}, protocol {data.protocol}, {_masks(data)}, "
        f"slices {' x '.join(map(str, found.shape))} (coils, y, x)",
        "training": f"{counted(found.training_cases, 'case')}, {counted(found.training_slices, 'slice')}",
        "validation": f"{counted(found.validation_cases, 'case')}, {counted(found.validation_slices, 'slice')}, "
        f"{counted(plan.validations, 'time')}",
        "steps": _steps(found, recipe),
        "machine": found.device,
    }
    for way in ways:
        name = "1 process" if way.processes == 1 else f"{way.processes} processes"
        lines[name] = (
            f"threads of each {way.threads}, {counted(way.plan.micro_batch, 'slice')} in a forward pass: "
            f"{recipe.batch_size / way.step_seconds:.2f} slices/s in training, a validation takes "
            f"{duration(way.validation_seconds)}, in all {duration(way.seconds)}"
        )
    if len(ways) > 1:
        lines["faster"] = _faster(*ways)
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines.items())


def _faster(one: Preview, several: Preview) -> str:
    """Which of both ways is faster in training, and the option for it."""
    ratio = one.step_seconds / several.step_seconds
    if ratio > 1:
        return f"--processes {several.processes}, {ratio:.2f} times the slices of one process"
    return f"one process, {1 / ratio:.2f} times the slices of {several.processes}"


def _masks(data: DataConfig) -> str:
    """Which masks measure the slices."""
    if data.augmentation is not None:
        low, high = data.augmentation.acceleration
        return f"{' and '.join(data.augmentation.masks)} masks drawn for every slice, x{low:g} to x{high:g}"
    if data.draws_masks:
        return f"{data.mask_kind} masks drawn for every slice, x{data.acceleration:g}"
    return f"{data.mask_kind} mask, x{data.acceleration:g}"


def _steps(found: Preview, recipe: Recipe) -> str:
    plan = found.plan
    if not plan.timed:
        steps = plan.length - plan.start
        epochs = f"{steps / plan.steps_per_epoch:g}"
        passes = f"{epochs} epoch{'' if epochs == '1' else 's'} of {plan.steps_per_epoch}"
        return f"{steps:,} of {counted(recipe.batch_size, 'slice')}: {passes}"
    steps = plan.length / found.step_seconds
    return (
        f"{recipe.minutes:g} minutes of them, about {steps:,.0f} of {counted(recipe.batch_size, 'slice')}: "
        f"{steps / plan.steps_per_epoch:.2f} epochs"
    )


def _farewell(outcome: Outcome, folder: Path) -> str:
    best = "" if outcome.progress.best is None else f", best validation PSNR {outcome.progress.best:.2f} dB"
    done = {"finished": "Finished", "time": "Out of time", "signal": "Stopped by a signal"}[outcome.reason]
    then = "" if outcome.reason == "finished" else " The same command with --resume goes on."
    return f"{done} after {counted(outcome.progress.step, 'step')}{best}: {folder}.{then}"
