"""Every reader gives back, bit for bit, what was written in its dataset's format, and leaves the rest alone."""

import numpy as np
import pytest

from somamba.data.case import LeftOut
from somamba.data.catalog import DATASETS
from somamba.data.phantom import ellipses, write_phantom
from somamba.errors import ConfigError

CASES = {"train": 2, "test": 1}


@pytest.mark.parametrize("name", DATASETS)
def test_what_is_written_is_read_back_exactly(name, tmp_path):
    written = write_phantom(name, tmp_path, cases=CASES, shape=(20, 16), seed=3)
    dataset = DATASETS[name]
    cases = [dataset.open_case(entry) for entry in dataset.find(tmp_path).entries]
    found = {case.id: case for case in cases if not isinstance(case, LeftOut)}
    assert set(found) == {truth.id for truth in written}
    for truth in written:
        for stored, volume in ((truth.kspace, found[truth.id].kspace), (truth.image, found[truth.id].image)):
            assert (stored is None) == (volume is None)
            if volume is not None:
                assert volume.shape == stored.shape
                np.testing.assert_array_equal(volume.read(0, len(volume)), stored)
                assert volume.read(0, 1).dtype == stored.dtype


@pytest.mark.parametrize("name", DATASETS)
def test_one_slice_is_the_same_alone_and_within_the_volume(name, tmp_path):
    (truth,) = write_phantom(name, tmp_path, cases={"train": 1})
    dataset = DATASETS[name]
    case = dataset.open_case(dataset.find(tmp_path).entries[0])
    for stored, volume in ((truth.kspace, case.kspace), (truth.image, case.image)):
        if volume is not None:
            np.testing.assert_array_equal(volume.slice(2), stored[2])


@pytest.mark.parametrize("name", DATASETS)
def test_cases_know_their_official_part(name, tmp_path):
    written = write_phantom(name, tmp_path, cases=CASES)
    roles = {entry.id: entry.role for entry in DATASETS[name].find(tmp_path).entries}
    assert all(roles[truth.id] == truth.role for truth in written)


def test_another_seed_gives_other_images():
    assert not np.array_equal(ellipses(2, (16, 16), seed=1), ellipses(2, (16, 16), seed=2))
    np.testing.assert_array_equal(ellipses(2, (16, 16), seed=1), ellipses(2, (16, 16), seed=1))


def test_odd_phantoms_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"shape=\(15, 16\)"):
        write_phantom("acdc", tmp_path, shape=(15, 16))
