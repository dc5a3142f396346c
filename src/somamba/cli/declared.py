"""Names and numbers that the parsers state although other packages define them.

Those packages import torch, which takes seconds; printing help must not wait for it. ``tests/cli/test_declared.py``
compares every entry with its definition.
"""

from somamba.report.names import METHODS

MODELS = tuple(METHODS)
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
