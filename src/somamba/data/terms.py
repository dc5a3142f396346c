"""Terms of use of the datasets: under which licence, and what to cite. No torch, so that pages can say it too."""

from typing import NamedTuple


class Terms(NamedTuple):
    """What must be stated beside a picture of a dataset."""

    licence: str
    citation: str


FASTMRI = Terms(
    "fastMRI data sharing agreement; no redistribution",
    "Zbontar et al., fastMRI: an open dataset and benchmarks for accelerated MRI, arXiv:1811.08839",
)
CC359 = Terms(
    "not stated where we looked; see the Calgary-Campinas site",
    "Souza et al., An open, multi-vendor, multi-field-strength brain MR dataset, NeuroImage 2018",
)
BRAIN_T1W = Terms(
    "CC0",
    "Bezmaternykh et al., Brain networks connectivity in mild to moderate depression: resting state fMRI study "
    "with implications to nonpharmacological treatment, Neural Plasticity 2021, "
    "doi:10.18112/openneuro.ds002748.v1.0.5",
)
HEADS = Terms(
    "CC0, CC BY, MIT, BSD-2, BSD-3 and public domain, by volume: docs/data.md lists them",
    "the repositories that docs/data.md lists, among them Lesjak et al., Validation of white-matter lesion change "
    "detection methods on a novel publicly available MRI image database, Neuroinformatics 14, 2016",
)
TERMS = {
    "fastmri": FASTMRI,
    "fastmri_multicoil": FASTMRI,
    "cc359": CC359,
    "cc359_multicoil": CC359,
    "acdc": Terms(
        "CC BY-NC-SA 4.0; the citation is mandatory",
        "Bernard et al., Deep learning techniques for automatic MRI cardiac multi-structures segmentation and "
        "diagnosis: is the problem solved?, IEEE TMI 37(11), 2018, doi:10.1109/TMI.2018.2837502",
    ),
    "m4raw": Terms(
        "CC BY 4.0 by its repository",
        "Lyu et al., M4Raw: a multi-contrast, multi-repetition, multi-channel MRI k-space dataset for low-field MRI "
        "research, Scientific Data 10, 2023, doi:10.5281/zenodo.8056074",
    ),
    "prostate158": Terms(
        "not stated where we looked; see doi:10.5281/zenodo.6481141",
        "Adams et al., Prostate158: an expert-annotated 3T MRI dataset and algorithm for prostate cancer detection, "
        "Computers in Biology and Medicine 148, 2022",
    ),
    "brain_t1w": BRAIN_T1W,
    "heads": HEADS,
    "heads_and_brains": Terms(f"{HEADS.licence}; {BRAIN_T1W.licence}", f"{HEADS.citation}; {BRAIN_T1W.citation}"),
    "folder": Terms("your own", "your own"),
}
