# %% [markdown]
# # What the router keeps in the state
#
# In every unit of SO-Mamba a router divides the features: the smooth *resident carrier* L is all that the scan may
# store, the *evidence* G steers the scan and corrects its output. Here we look at both, on a real scan with the weights
# that come with somamba, and measure how much of the state is fast in space (the paper's leakage).

# %%
import os
from pathlib import Path

import numpy as np
import torch

import somamba
from somamba.evaluation.leakage import LeakageConfig, leakage, trace_leakage
from somamba.evaluation.streams import picture
from somamba.evaluation.trace import record_scans, record_streams
from somamba.report.strip import draw_strip

SMALL = "SOMAMBA_SMALL" in os.environ
SCAN = Path(somamba.__file__).parent / "samples" / "brain_13coil.npz"
OUTPUT = Path(os.environ.get("SOMAMBA_OUTPUT", "output"))
OUTPUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# Leave out three of four lines, as a fast scan would. The small setting keeps the central half of k-space only: a
# coarser image, a quarter of the work.

# %%
kspace = somamba.open_scan(SCAN).kspace(0)
if SMALL:
    kspace = kspace[:, 56:168, 56:168]
kspace = kspace * somamba.masks.equispaced(kspace.shape[-1], 4, center_fraction=0.11).pattern
model = somamba.load("brain_raw", device="cpu")

# %% [markdown]
# Hooks note what each unit's router returns, and what its scan is given, while the network reconstructs as usual.

# %%
carriers, evidences, shares, levels = [], [], [], []


def keep_streams(streams):
    """Keep one picture of each stream, and the share of its energy beyond a quarter of the largest frequency."""
    carriers.append(picture(streams.carrier).numpy())
    evidences.append(picture(streams.evidence).numpy())
    shares.append([float(leakage([one], (0.25,))[0, 0]) for one in streams])


def keep_leakage(trace):
    """Measure HLeak and RLeak of one unit at each cutoff."""
    levels.append(trace_leakage(trace, LeakageConfig())[0])


network = model.trained.model
with torch.no_grad(), record_streams(network, keep_streams), record_scans(network, keep_leakage):
    image = model.reconstruct(kspace.numpy(), refine=False)

# %% [markdown]
# The carrier is smooth by construction; nothing else is stored. Edges and detail, and in some units broad structures
# too, are in the evidence, which steers the scan and never becomes content.

# %%


def row(name, pictures):
    """Some units side by side, each from black to its own brightest half percent."""
    units = np.unique(np.linspace(0, len(pictures) - 1, 4).round().astype(int))
    return {f"{name}, unit {unit + 1}": pictures[unit] / np.percentile(pictures[unit], 99.5) for unit in units}


(OUTPUT / "router_carrier.png").write_bytes(draw_strip(row("L", carriers)))
(OUTPUT / "router_evidence.png").write_bytes(draw_strip(row("G", evidences)))

# %% [markdown]
# Leakage: the share of energy beyond a quarter (and 0.35) of the largest frequency. HLeak is that of the states, RLeak
# that of what is read from them. For comparison, the streams that the router made.

# %%
for name, share in zip(("carrier L", "evidence G"), np.mean(shares, axis=0), strict=True):
    print(f"{name:>10}: {share:6.1%} of its energy beyond r = 0.25, mean over units")
for unit, (quarter, third) in enumerate(levels, start=1):
    print(f"unit {unit}: HLeak {quarter[0]:.4f} / {third[0]:.4f}, RLeak {quarter[1]:.4f} / {third[1]:.4f}")

# %% [markdown]
# Over a whole dataset, with rows that tables and figures read:
#
#     somamba leakage weights/so_mamba_acdc_x4 --dataset acdc --data data/acdc --split val --csv leakage.csv
#     somamba streams weights/so_mamba_acdc_x4 --dataset acdc --data data/acdc --split val -o streams.npz
#     somamba figure streams streams.npz -o streams.png
