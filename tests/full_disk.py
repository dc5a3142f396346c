"""A disk that is full, without being root."""

import resource
from contextlib import contextmanager


@contextmanager
def largest_file(size):
    """No file can grow beyond ``size`` bytes, as on a disk that is full after them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
