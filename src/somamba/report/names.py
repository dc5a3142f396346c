"""The names of methods and datasets, and the order of methods, as in the paper."""

from collections.abc import Sequence
from typing import Any
from unicodedata import category

from somamba.results.record import value_of
from somamba.results.setting import Setting

METHODS = {
    "zero_filled": "Zero-Filling",
    "cg_sense": "CG-SENSE",
    "l1_wavelet": "l1-wavelet",
    "unet": "UNet",
    "ista_net": "ISTA-Net",
    "transunet": "TransUNet",
    "mamba_unet": "Mamba-UNet",
    "reconformer": "ReconFormer",
    "fps_former": "FpsFormer",
    "lmo": "LMO",
    "hifi_mamba": "HiFi-Mamba",
    "mamba_regularizer": "Mamba regularizer",
    "sor_router": "+ SOR router",
    "without_access": "w/o state access",
    "without_outlet": "w/o output outlet",
    "content_residency": "w/ content residency",
    "residency_unit": "learned residency, by unit",
    "residency_token": "learned residency, by token",
    "residency_channel": "learned residency, by channel",
    "so_mamba": "SO-Mamba",
    "so_mamba_adaptive": "SO-Mamba, adaptive",
    "tied_decay": "tied A/Δ",
    "tied_interfaces": "tied B/C",
}
DATASETS = {"fastmri": "fastMRI", "cc359": "CC359", "prostate158": "Prostate158", "acdc": "ACDC", "m4raw": "M4Raw"}
SPLITS = {"val": "validation", "train": "training"}
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of signs that are not seen: controls, marks of direction, surrogates and separators."""
REFERENCE_METHOD = "so_mamba"
"""The method that others are compared with."""
CHOSEN = (
    "Validation cases chose the best weights of a training, so the same weights may score a little lower on cases that "
    "were never used."
)
"""What stands beside scores of trained networks on validation cases."""
_PLACES = {name: place for place, name in enumerate(METHODS)}


def method_name(method: str) -> str:
    """The paper's name of a method; one it does not have is shown as it is."""
    return METHODS.get(method, method)


def run_name(name: str) -> str:
    """The name of a run by that of its folder; of ``parent/folder`` the parent stands behind it."""
    parent, _, folder = name.rpartition("/")
    return f"{method_name(folder)}, {parent}" if parent else method_name(folder)


def dataset_name(dataset: str) -> str:
    """The paper's name of a dataset; one it does not have is shown as it is."""
    return DATASETS.get(dataset, dataset)


def visible(text: str) -> str:
    r"""The text with signs that steer a terminal or turn the direction of writing shown as ``\x1b`` or ``\u202e``."""
    hidden = {sign for sign in set(text) - {"\n", "\t"} if category(sign) in HIDDEN}
    return "".join(sign.encode("unicode_escape", "surrogatepass").decode() if sign in hidden else sign for sign in text)


def counted(count: int, noun: str) -> str:
    """A number with its noun: ``1 case``, ``2 cases``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def place(setting: Setting) -> str:
    """Dataset, acceleration and split, in the words of a heading."""
    split = SPLITS.get(setting.split, setting.split)
    return f"{dataset_name(setting.dataset)} ×{setting.acceleration:g}, {split}"


def method_place(method: str) -> tuple[int, str]:
    """The key that sorts methods in the paper's order, others after it by name."""
    return _PLACES.get(method, len(_PLACES)), method


def distinct_names(measured: Sequence[Any], details: Sequence[str] = ("seed", "epochs", "weights")) -> list[str]:
    """Names of methods; if one comes more than once, the details that differ are added, as few as are needed.

    Args:
        measured: Records or keys of records that have a ``method`` and the details.
        details: Names of fields, tried in this order.
    """
    names = [method_name(value_of(one, "method")) for one in measured]
    for detail in details:
        values = [_shown(detail, value_of(one, detail)) for one in measured]
        found: dict[str, set[str]] = {}
        for name, value in zip(names, values, strict=True):
            found.setdefault(name, set()).add(value)
        names = [
            f"{name}, {value}" if len(found[name]) > 1 else name for name, value in zip(names, values, strict=True)
        ]
    return names


def _shown(detail: str, value: Any) -> str:
    if detail == "epochs":
        return "1 epoch" if value == 1 else f"{value:.3g} epochs"
    if detail == "weights":
        return f"{detail} {value[:8]}"  # of a digest the first digits are enough
    return f"{detail} {value:g}" if isinstance(value, float) else f"{detail} {value}"
