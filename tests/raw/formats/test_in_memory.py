"""Arrays in memory are the same raw scan as in a file; `tests/inference/test_pretrained.py` has what is refused."""

import numpy as np
import pytest
import torch

from raw.made import coil_kspace, columns, noise
from somamba.data.simulation.scanner import coil_maps
from somamba.errors import InputError
from somamba.raw.formats.in_memory import plain_array, raw_scan_of
from somamba.raw.opening import open_raw_scan


def test_an_array_and_its_file_are_the_same_scan(tmp_path):
    kspace = columns(coil_kspace(), 2, 8)
    np.save(tmp_path / "a.npy", kspace)
    stored, array = open_raw_scan(tmp_path / "a.npy"), raw_scan_of(kspace)
    assert torch.equal(stored.kspace(0), array.kspace(0))
    assert stored.notes == array.notes
    assert stored.noise.deviation == array.noise.deviation
    assert (array.format, array.stacked) == ("array in memory", False)
    assert raw_scan_of(kspace[None]).stacked


def test_masks_maps_and_noise_come_with_it():
    kspace, maps = coil_kspace(), coil_maps(3, (32, 24), seed=1)
    mask = np.arange(24) % 2 == 0
    scan = raw_scan_of(kspace, maps=maps, mask=mask, noise=noise((3, 500), 2.0))
    np.testing.assert_array_equal(scan.kspace(0).numpy(), np.where(mask, kspace, 0))
    assert torch.equal(scan.maps(0), maps)
    assert scan.noise.deviation == pytest.approx(2.0, rel=0.1)
    rows = raw_scan_of(kspace, mask=np.ones((32, 24)))
    np.testing.assert_array_equal(rows.kspace(0).numpy(), kspace)


def test_arrays_are_brought_to_the_byte_order_of_the_machine():
    found = plain_array(np.arange(4, dtype=">f8"), "x")
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, np.arange(4))
    with pytest.raises(InputError, match="must hold numbers"):
        plain_array(np.array(["a"]), "x")
