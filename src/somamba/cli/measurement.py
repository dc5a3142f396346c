"""What the commands share that measure a checkpoint on one split of a dataset."""

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path

from somamba.cli.arguments import teaching_parser
from somamba.data.catalog import DATASETS
from somamba.data.config import DataConfig
from somamba.errors import ConfigError
from somamba.evaluation.examination import Examination
from somamba.inference.trained import Trained


def measurement_parser(command: str, description: str) -> ArgumentParser:
    """The model, the data, how much of it, and where to compute and write rows."""
    parser = model_parser(command, description)
    parser.add_argument("--csv", type=Path, help="write the rows to this file")
    parser.add_argument("--limit-cases", type=int, help="only the first so many cases")
    return parser


def model_parser(command: str, description: str) -> ArgumentParser:
    """The model, the data, and where to compute."""
    parser = teaching_parser(command, description)
    parser.set_defaults(limit_cases=None)
    parser.add_argument("checkpoint", help="folder of a checkpoint, such as runs/x/best, or a model without weights")
    parser.add_argument("--dataset", required=True, choices=list(DATASETS))
    parser.add_argument("--data", required=True, type=Path, help="folder that holds the dataset")
    parser.add_argument("--split", choices=("train", "val", "test"), default="test")
    parser.add_argument("--acceleration", type=float, help="by default the one of the checkpoint, or 4")
    parser.add_argument("--protocol", choices=("magnitude", "raw"), help="by default the one of the checkpoint")
    parser.add_argument("--force", action="store_true", help="allow another protocol than the one of training")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", type=int, help="threads on the CPU")
    parser.add_argument("--cache", type=Path, help="folder of prepared slices")
    return parser


def asked_examination(trained: Trained, options: Namespace) -> Examination:
    """What the command line asks for."""
    return Examination(
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
    elif config.variety is not None:
        low, high = config.variety.acceleration
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
