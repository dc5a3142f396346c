"""Whole jobs in one call: reconstruct a scan, evaluate a model, train one. The command line does the same."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from somamba.data.case import Role
from somamba.data.config import DataConfig
from somamba.errors import InputError
from somamba.evaluation.spec import EvaluationResult, EvaluationSpec, run_evaluation
from somamba.inference.preparation import RecoveryOptions
from somamba.inference.pretrained import Pretrained, load
from somamba.inference.reconstruct import reconstruct as reconstruct_scan
from somamba.inference.reconstruction import Reconstruction
from somamba.inference.undersampling import Undersampling
from somamba.inference.weights.trained import DEFAULT, open_model
from somamba.inference.writers.writing import write
from somamba.raw.formats.in_memory import raw_scan_of
from somamba.raw.opening import open_raw_scan
from somamba.raw.raw_scan import RawScan
from somamba.registry import did_you_mean
from somamba.runtime.device import find_device
from somamba.training.loop import Outcome, fit
from somamba.training.recipe import read_recipe, recipe_from_plain


def reconstruct(
    source: Any,
    weights: str | Pretrained = DEFAULT,
    *,
    output: str | Path | None = None,
    acceleration: float | int | None = None,
    device: str = "auto",
    force: bool = False,
) -> Reconstruction:
    """Reconstruct a scan, whatever holds it.

    Args:
        source: A file (fastMRI or ISMRMRD HDF5, NumPy, BART, NIfTI), an opened scan (`open_scan`), or an array of
            k-space, complex, with two to four of the axes slices, coils, y and x.
        weights: Name of bundled weights, folder of a checkpoint, a method without weights (``zero_filled``,
            ``cg_sense``), or a loaded model.
        output: File to write; its ending tells the format (.nii.gz, .h5, .npy, .png, .dcm). None writes nothing.
        acceleration: Leave out lines of a fully sampled scan first: one sample in so many stays. None uses all.
        device: ``cpu``, ``cuda``, or ``auto`` for a GPU if there is one.
        force: Let weights that were trained for magnitude images see measurements.

    Returns:
        Complex images ``(slices, rows, columns)`` in the units of k-space under the centred orthonormal FFT, with voxel
        size, affine, notes and provenance.

    Raises:
        SomambaError: the source cannot be read or reconstructed; the message says what to do.

    Examples:
        >>> import numpy as np, somamba
        >>> image = np.zeros((32, 24))
        >>> image[8:20, 6:18] = 1
        >>> kspace = np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(image))).astype("complex64")
        >>> somamba.reconstruct(kspace, "zero_filled")
        Reconstruction('kspace', 1 x 32 x 24, zero_filled)
    """
    model = weights if isinstance(weights, Pretrained) else load(weights, device=device)
    if isinstance(source, str | Path):
        scan = open_raw_scan(source)
    else:
        scan = source if isinstance(source, RawScan) else raw_scan_of(source)
    undersampling = None if acceleration is None else Undersampling(acceleration=acceleration)
    options = RecoveryOptions(undersampling=undersampling, force=force)
    made = reconstruct_scan(scan, model.trained, options, device=model.device)
    if output is not None:
        write(made, output)
    return made


def evaluate(
    source: str,
    *,
    dataset: str,
    data: str | Path,
    split: Role = "test",
    acceleration: float | int | None = None,
    limit_cases: int | None = None,
    settings: Mapping[str, Any] | None = None,
    device: str = "auto",
    on_progress: Callable[[int, int], None] = lambda _done, _count: None,
) -> EvaluationResult:
    """Score a model on one split of a dataset: PSNR, SSIM and NMSE of every case.

    Args:
        source: Folder of a checkpoint, or the name of a model without weights (``zero_filled``).
        dataset: Name in the catalogue, ``acdc`` for instance.
        data: Folder of the dataset.
        split: ``train``, ``val`` or ``test``.
        acceleration: Nominal acceleration; None takes that of the training, for models without weights the paper's 4.
        limit_cases: Number of cases, the first ones of the split; None for all.
        settings: Fields of the data that differ from those of the training, or for models without weights from their
            defaults: ``{"size": (128, 128), "mask": "random"}``.
        device: ``cpu``, ``cuda``, or ``auto`` for a GPU if there is one.
        on_progress: Called after every slice with the number of slices done and the number of all.

    Returns:
        Scores by case: PSNR in dB, SSIM and NMSE without unit. ``.records()`` gives them with their provenance, as the
        CSV files hold them; a notebook shows a table.

    Raises:
        SomambaError: no such model, dataset or split, or weights of another protocol.

    Examples:
        >>> import somamba
        >>> from pathlib import Path
        >>> from somamba.data.phantom import write_phantom  # small images for trying things out
        >>> _ = write_phantom("folder", Path("images"), cases={"train": 1, "val": 1, "test": 2}, shape=(32, 32))
        >>> result = somamba.evaluate("zero_filled", dataset="folder", data="images", split="test")
        >>> [(one.case, one.slices, one.scores.psnr > 15) for one in result.scores]
        [('test1/image', 4, True), ('test2/image', 4, True)]
    """
    trained = open_model(source)
    known = trained.data(source)
    if known is not None and known.dataset == dataset:
        config = replace(known, path=str(data))
    elif known is not None and known.protocol != DataConfig(dataset=dataset).protocol:
        raise InputError(
            f"{source} was trained for protocol {known.protocol!r} on {known.dataset!r}; use `somamba evaluate` with "
            f"--protocol to score it on {dataset!r} on purpose."
        )
    else:
        config = DataConfig(dataset=dataset, path=str(data))
    if acceleration is not None:
        config = config.accelerated(acceleration)
    if unknown := sorted(set(settings or {}) - {field.name for field in fields(DataConfig)}):
        hint = did_you_mean(unknown[0], [field.name for field in fields(DataConfig)])
        raise InputError(f"The data have no setting {unknown[0]!r}.{hint}")
    config = replace(config, **(settings or {}))
    spec = EvaluationSpec(source=source, data=config, split=split, limit_cases=limit_cases)
    return run_evaluation(trained, spec, device=find_device(device), on_progress=on_progress)


def train(
    recipe: str | Path | Mapping[str, Any],
    output: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    resume: bool = False,
    start_from: str | Path | None = None,
    on_event: Callable[[Mapping[str, Any]], None] = lambda _event: None,
) -> Outcome:
    """Train a model as a recipe says. The result is a folder with ``best/``, ``last/`` and ``journal.jsonl``.

    Args:
        recipe: YAML file, or the same fields as a table; what is left out has its default.
        output: Folder of the run.
        settings: Fields that differ from the recipe's, by dotted name: ``{"data.path": "data/acdc", "epochs": 3}``.
        resume: Go on from ``output/last`` if it is there.
        start_from: Checkpoint whose weights the run starts from.
        on_event: Called with every event: start, step, validation, stop.

    Returns:
        How the training ended (``reason``), and where it stands (``progress``: steps, scores, best PSNR in dB).

    Raises:
        SomambaError: a recipe, data or folder that cannot be used; the message says what to do.

    Examples:
        >>> import somamba
        >>> from pathlib import Path
        >>> from somamba.data.phantom import write_phantom  # small images for trying things out
        >>> _ = write_phantom("folder", Path("images"), cases={"train": 1, "val": 1}, shape=(32, 32))
        >>> network = {"groups": 1, "units": 1, "channels": 16, "d_model": 8, "mixer": {"d_head": 8}}
        >>> data = {"dataset": "folder", "path": "images", "cache": "prepared", "size": [32, 32]}
        >>> recipe = {"network": network, "data": data, "epochs": 1, "optimiser": {"warmup_epochs": 0.5}}
        >>> outcome = somamba.train(recipe, "runs/first", settings={"batch_size": 2})
        >>> outcome.reason, outcome.progress.step
        ('finished', 2)
        >>> somamba.load("runs/first/best").trained.name
        'so_mamba'
    """
    overrides = [f"--{name}={value}" for name, value in (settings or {}).items()]
    if isinstance(recipe, Mapping):
        asked = recipe_from_plain(recipe, overrides, source="recipe")
    else:
        asked = read_recipe(Path(recipe), overrides)
    return fit(
        asked,
        Path(output),
        resume=resume,
        origin=None if start_from is None else Path(start_from),
        tell=on_event,
    )
