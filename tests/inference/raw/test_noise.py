"""The noise of a scan is found where it has one, and bounded where it has not."""

import numpy as np
import pytest
import torch

from inference.raw.made import coil_kspace, columns, noise
from somamba.inference.raw.noise import noise_of_edges, noise_of_scan
from somamba.inference.raw.sampling import find_sampling


def edges(kspace):
    kspace = torch.from_numpy(kspace.astype(np.complex64))
    return noise_of_edges(kspace, find_sampling(kspace))


def test_the_outermost_samples_show_the_noise():
    signal = np.zeros((4, 128, 96), dtype=np.complex64)
    signal[:, 54:74, 38:58] = 100 * coil_kspace(4, 20, 20)
    assert edges(signal + noise(signal.shape, 0.3)).deviation == pytest.approx(0.3, rel=0.15)


def test_columns_that_were_not_acquired_do_not_lower_it():
    kspace = noise((4, 128, 96), 0.3)
    kspace[..., :8] = 0
    assert edges(columns(kspace, 4, 8)).deviation == pytest.approx(0.3, rel=0.15)


def test_without_samples_at_the_edge_it_is_unknown():
    keep = np.zeros((32, 24), dtype=bool)
    keep[10:20, 8:16] = np.eye(10, 8, dtype=bool)
    assert edges(np.where(keep, coil_kspace(), 0)) is None


def test_an_all_zero_noise_scan_is_none():
    assert noise_of_scan(np.zeros((2, 10), dtype=np.complex64), 1.0) is None
