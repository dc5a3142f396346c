# %% [markdown]
# # Your raw scan to NIfTI
#
# A file with k-space in, an image in the right place out. The file here is the scan that comes with somamba: one slice
# of a head, 13 coils, fully sampled. Put the name of yours instead; [these formats](../scans.md) are read.

# %%
import os
from pathlib import Path

import nibabel
import numpy as np

import somamba
from somamba.report.strip import draw_strip

SCAN = Path(somamba.__file__).parent / "samples" / "brain_13coil.npz"
OUTPUT = Path(os.environ.get("SOMAMBA_OUTPUT", "output"))
OUTPUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# How is the file understood? Look at this table before you trust an image; in a notebook `scan` alone shows it. If an
# axis or the centre of k-space is not what you know it to be, `open_scan(..., axes=..., centred=...)` settles it.

# %%
from somamba.raw.describe import describe

scan = somamba.open_scan(SCAN)
for name, value in describe(scan).items():
    print(f"{name:>14}  {value}")

# %% [markdown]
# Reconstruct it. Nothing of this scan is missing, so we leave out three of four lines first: then there is a truth to
# compare with. For an undersampled scan of yours, leave `acceleration` away.

# %%
made = somamba.reconstruct(scan, "brain_raw", acceleration=4)
start = somamba.reconstruct(scan, "zero_filled", acceleration=4)
truth = somamba.reconstruct(scan, "zero_filled")
for note in made.notes:
    print(note)

# %% [markdown]
# Bright is large; the errors are five times as bright as the images.

# %%
white = np.percentile(truth.magnitudes, 99.5)
pictures = {"all lines": truth, "every fourth, zero-filled": start, "every fourth, SO-Mamba": made}
images = {name: one.magnitudes[0] / white for name, one in pictures.items()}
errors = {f"error of {name}": 5 * np.abs(images[name] - images["all lines"]) for name in list(images)[1:]}
(OUTPUT / "scan_to_nifti.png").write_bytes(draw_strip(images))
(OUTPUT / "scan_to_nifti_errors.png").write_bytes(draw_strip(errors))

# %% [markdown]
# Write it. The file says how it came about: scan, weights and their digests, options, versions.

# %%
somamba.write(made, OUTPUT / "image.nii.gz")
image = nibabel.load(OUTPUT / "image.nii.gz")
print(image.shape, image.get_data_dtype(), "voxel", image.header.get_zooms())

# %% [markdown]
# The same in a shell:
#
#     somamba inspect scan.h5
#     somamba reconstruct scan.h5 -o image.nii.gz
