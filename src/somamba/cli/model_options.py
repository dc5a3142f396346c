"""The evaluation that the options of a command ask for: a model on one split of a dataset."""

from argparse import Namespace
from dataclasses import replace

from somamba.data.config import DataConfig
from somamba.errors import ConfigError
from somamba.evaluation.spec import EvaluationSpec
from somamba.inference.weights.trained import Trained


def asked_evaluation(trained: Trained, options: Namespace) -> EvaluationSpec:
    """The evaluation that the command line asks for."""
    return EvaluationSpec(
        source=options.checkpoint,
        data=_data_config(trained, options),
        split=options.split,
        limit_cases=options.limit_cases,
        force=options.force,
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
