"""The name of a file without its ending."""

import pytest

from somamba.raw.naming import stem


@pytest.mark.parametrize(("name", "short"), [("a.nii.gz", "a"), ("a.b.h5", "a.b"), ("raw", "raw")])
def test_stems_lose_the_whole_ending(name, short):
    assert stem(name) == short
