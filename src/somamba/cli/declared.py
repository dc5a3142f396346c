"""Names and numbers that the parsers state although other packages define them.

Those packages import torch, which takes seconds; printing help must not wait for it. ``tests/cli/test_declared.py``
compares every entry with its definition.
"""

MODELS = (
    "zero_filled",
    "cg_sense",
    "l1_wavelet",
    "so_mamba",
    "mamba_regularizer",
    "sor_router",
    "without_access",
    "without_outlet",
    "content_residency",
    "residency_channel",
    "residency_token",
    "residency_unit",
    "so_mamba_adaptive",
    "tied_decay",
    "tied_interfaces",
    "unet",
    "ista_net",
    "transunet",
    "reconformer",
    "fps_former",
    "mamba_unet",
    "lmo",
    "hifi_mamba",
)
WITHOUT_WEIGHTS = ("zero_filled", "cg_sense", "l1_wavelet")
MASKS = ("equispaced", "random", "golden-radial", "uniform-radial")
WRITERS = ("h5", "nii", "dcm", "npy", "png")
ENGINES = ("local", "ray")
BACKENDS = ("triton", "fused", "native", "compiled", "chunked", "reference")
WEIGHTS = "brain_raw"
MOST_COILS = 12
GALLERY_CASES = 2
CUTOFFS = (0.25, 0.35)
REPORT_TITLE = "SO-Mamba report"
REPORT_SLICES = 20
ERROR_RANGE = 0.15
MOST_THREADS = 4096
