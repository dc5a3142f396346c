"""``somamba train RECIPE``: train a model as a YAML file says; options override its fields."""

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

from rich.console import Console

from somamba.errors import ConfigError
from somamba.native.memory import keep_pages
from somamba.runtime.processes import announced_rank
from somamba.training.display import duration, live_display, plain_display
from somamba.training.loop import Outcome, fit
from somamba.training.preview import Preview, preview
from somamba.training.recipe import Recipe, read_recipe, recipe_parser

RESUMABLE = 75
"""Exit code of a run that met its time limit and can be resumed: EX_TEMPFAIL, "try again"."""

DESCRIPTION = """Train a model as a recipe says. A recipe is a YAML file; every field of it is an option as well.

The run is a folder: last/ to resume from, best/ the weights of the best validation, journal.jsonl. A run that was
stopped, killed or ran out of disk goes on with --resume and ends with the same bytes as one never interrupted.
Exit code: 0 when the training is complete, 75 at its time limit, 128 + signal after a signal.

examples:
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --dry-run
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --optimiser.learning_rate 4e-4 --output runs/slower
  somamba train recipes/acdc_x4.yaml --data.path data/acdc --resume
  torchrun --nproc-per-node 2 -m somamba train recipes/acdc_x4.yaml --data.path data/acdc"""


def main(arguments: list[str]) -> None:
    """Parse, train or preview, and leave with 0 only when the training is complete."""
    recipe, options = parse(arguments)
    if options.dry_run:
        print(describe(recipe))
        return
    keep_pages(4096)
    quiet = announced_rank() != 0
    if quiet:
        outcome = fit(recipe, options.output, resume=options.resume)
    elif sys.stdout.isatty():
        with live_display(Console()) as tell:
            outcome = fit(recipe, options.output, resume=options.resume, tell=tell)
    else:
        outcome = fit(recipe, options.output, resume=options.resume, tell=plain_display(_line))
    if not quiet:
        print(_farewell(outcome, options.output))
    if outcome.reason != "finished":
        sys.exit(RESUMABLE if outcome.signal is None else 128 + outcome.signal)


def parse(arguments: list[str]) -> tuple[Recipe, Namespace]:
    """The recipe, and the options that are about the session: run, resume, dry_run."""
    session = ArgumentParser(
        prog="somamba train",
        usage="%(prog)s RECIPE [--output FOLDER] [--resume] [--dry-run] [--print_config] [--FIELD VALUE ...]",
        description=DESCRIPTION,
        formatter_class=RawDescriptionHelpFormatter,
        add_help=False,
        allow_abbrev=False,
    )
    session.add_argument("--output", type=Path, help="folder of the run; by default runs/ and the name of the recipe")
    session.add_argument("--resume", action="store_true", help="go on from the run's last checkpoint, if there is one")
    session.add_argument("--dry-run", action="store_true", help="only say what would be done, and how long")
    if {"-h", "--help"} & set(arguments):
        print(session.format_help(), recipe_parser(Recipe.model).format_help(), sep="\n")
        sys.exit(0)
    if not arguments or arguments[0].startswith("-"):
        raise ConfigError("The recipe comes first: somamba train recipes/acdc_x4.yaml --data.path FOLDER")
    path = Path(arguments[0])
    options, fields = session.parse_known_args(arguments[1:])
    options.output = options.output or Path("runs", path.stem)
    return read_recipe(path, fields), options


def describe(recipe: Recipe) -> str:
    """What ``--dry-run`` prints."""
    found = preview(recipe)
    plan, data, cost = found.plan, recipe.data, found.cost
    lines = {
        "model": f"{recipe.model}, {cost.parameters:,} parameters",
        "cost": f"{cost.module / 1e9:.1f} G MACs a slice as the paper counts, {cost.all / 1e9:.1f} G in all products, "
        f"{(cost.scan + cost.fft) / 1e9:.1f} G in scan and FFT",
        "data": f"{data.dataset}, protocol {data.protocol}, {data.mask_kind} mask, x{data.acceleration:g}, "
        f"slices {' x '.join(map(str, found.shape))} (coils, y, x)",
        "training": f"{found.training_cases} cases, {found.training_slices} slices",
        "validation": f"{found.validation_cases} cases, {found.validation_slices} slices, {plan.validations} times",
        "steps": _steps(found, recipe),
        "machine": f"{found.device}, {found.threads} threads, {plan.micro_batch} slices in a forward pass",
        "speed": f"{recipe.batch_size / found.step_seconds:.2f} slices/s in training, a validation takes "
        f"{duration(found.validation_seconds)}",
        "time": duration(found.seconds),
    }
    width = max(map(len, lines))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines.items())


def _steps(found: Preview, recipe: Recipe) -> str:
    plan = found.plan
    if not plan.timed:
        return f"{plan.length:,} of {recipe.batch_size} slices: {recipe.epochs} epochs of {plan.steps_per_epoch}"
    steps = plan.length / found.step_seconds
    return (
        f"{recipe.minutes:g} minutes of them, about {steps:,.0f} of {recipe.batch_size} slices: "
        f"{steps / plan.steps_per_epoch:.2f} epochs"
    )


def _line(text: str) -> None:
    print(text, flush=True)


def _farewell(outcome: Outcome, folder: Path) -> str:
    best = "" if outcome.progress.best is None else f", best validation PSNR {outcome.progress.best:.2f} dB"
    done = {"finished": "Finished", "time": "Out of time", "signal": "Stopped by a signal"}[outcome.reason]
    then = "" if outcome.reason == "finished" else " The same command with --resume goes on."
    return f"{done} after {outcome.progress.step} steps{best}: {folder}.{then}"
