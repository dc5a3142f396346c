# %% [markdown]
# # A folder of scans to DICOM, on one machine and on a cluster
#
# Thousands of scans are one command. It goes on after an interruption, skips what is there and sound, and a bad file
# does not stop the others. Here it runs from Python; the words are those of the shell.

# %%
import os
from pathlib import Path

import numpy as np
import pydicom

import somamba
from somamba.cli.main import main
from somamba.report.strip import draw_strip

SMALL = "SOMAMBA_SMALL" in os.environ
WEIGHTS, FACTORS = ("zero_filled", (2, 4)) if SMALL else ("brain_raw", (2, 3, 4, 6))
SCAN = Path(somamba.__file__).parent / "samples" / "brain_13coil.npz"
OUTPUT = Path(os.environ.get("SOMAMBA_OUTPUT", "output"))
SCANS = OUTPUT / "scans"
SCANS.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# Make a folder of scans: the same head, undersampled more and more. And one file that is none.

# %%
kspace = somamba.open_scan(SCAN).kspace(0)
for factor in FACTORS:
    mask = somamba.masks.equispaced(kspace.shape[-1], factor, center_fraction=0.11).pattern
    np.save(SCANS / f"head_x{factor}.npy", (kspace * mask).numpy())
np.save(SCANS / "notes.npy", np.arange(10))

# %% [markdown]
# One machine. The exit code is 2, because one file could not be used; the table says which, and why.

# %%
code = main(["reconstruct", str(SCANS), "-o", str(OUTPUT / "dicom"), "--format", "dcm", "--weights", WEIGHTS])
print("exit code", code)

# %% [markdown]
# A Ray cluster takes the same words and `--engine ray`. Without `RAY_ADDRESS` a cluster of this machine is started; on
# many machines, `ray start --head` on one and `ray start --address=...` on the others come first.

# %%
os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
words = ["--format", "dcm", "--weights", WEIGHTS, "--engine", "ray", "--device", "cpu"]
main(["reconstruct", str(SCANS), "-o", str(OUTPUT / "dicom_ray"), *words])

# %% [markdown]
# Both give the same pixels. Stored values reach from 0 to 32767; ImageComments say that the images are for research.

# %%
pictures = {}
for factor in FACTORS:
    alone, shared = (
        pydicom.dcmread(OUTPUT / where / f"head_x{factor}" / "0001.dcm") for where in ("dicom", "dicom_ray")
    )
    print(f"x{factor}: {alone.Rows} x {alone.Columns}, same pixels: {alone.PixelData == shared.PixelData}")
    pictures[f"x{factor}"] = alone.pixel_array / alone.WindowWidth
(OUTPUT / "folder_to_dicom.png").write_bytes(draw_strip(pictures))

# %% [markdown]
# In a shell, and as an array job:
#
#     somamba reconstruct scans/ -o dicom/ --format dcm
#     somamba reconstruct scans/ -o dicom/ --format dcm --engine ray
#     somamba reconstruct scans/ -o dicom/ --format dcm --shard 3/100
