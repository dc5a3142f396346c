"""The evaluation that the options of a command ask for: a model on one split of a dataset."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from somamba.data.config import DataConfig
from somamba.errors import ConfigError
from somamba.evaluation.spec import EvaluationSpec
from somamba.inference.weights.trained import Trained, open_model
from somamba.report.names import counted
from somamba.results.setting import Sampled, Setting
from somamba.runtime.device import use_threads
from somamba.runtime.processes import World, joined


@contextmanager
def asked_evaluation(options: Namespace) -> Iterator[tuple[Trained, EvaluationSpec, World]]:
    """The model, the evaluation that the command line asks for, and the processes that share it."""
    use_threads(options.threads)
    trained = open_model(options.checkpoint)
    data, split, limit = _data_config(trained, options), options.split, options.limit_cases
    spec = EvaluationSpec(source=options.checkpoint, data=data, split=split, limit_cases=limit, force=options.force)
    with joined(options.device) as world:
        trained.model.to(world.device)
        yield trained, spec, world


def heading(setting: Setting, sampled: Sampled, cases: int, slices: int) -> str:
    """What was measured, in the first line that a command prints.

    Args:
        setting: The data.
        sampled: How the first case was sampled.
        cases: Number of cases.
        slices: Number of slices.
    """
    return (
        f"{setting.dataset} {setting.split}, protocol {setting.protocol}, {setting.mask} mask, "
        f"x{setting.acceleration:g} (realised x{sampled.realised_acceleration:.2f}): "
        f"{counted(cases, 'case')}, {counted(slices, 'slice')}"
    )


def _data_config(trained: Trained, options: Namespace) -> DataConfig:
    """The data to measure on: as the model was trained, with what the command line asks for."""
    config = trained.data(options.checkpoint)
    if config is None or config.dataset != options.dataset or options.protocol not in (None, config.protocol):
        config = DataConfig(dataset=options.dataset, protocol=options.protocol or "magnitude")
    if options.acceleration is not None:
        config = config.accelerated(options.acceleration)
    elif config.augmentation is not None:
        low, high = config.augmentation.acceleration
        raise ConfigError(
            f"{options.checkpoint} was trained for accelerations from {low:g} to {high:g}: say at which one to measure "
            "it, such as --acceleration 4."
        )
    config = replace(config, path=str(options.data), cache=None if options.cache is None else str(options.cache))
    if trained.protocol not in (None, config.protocol) and not options.force:
        raise ConfigError(
            f"{options.checkpoint} was trained for protocol {trained.protocol!r} and would be evaluated with "
            f"{config.protocol!r}. Give --protocol {trained.protocol}, or --force to do it all the same."
        )
    return config
