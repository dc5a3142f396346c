"""Synthetic data shared by the tests of one session."""

import pytest

from training.tiny import write_data


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A dataset folder, as the part of a recipe that names it."""
    return write_data(tmp_path_factory.mktemp("data"))
