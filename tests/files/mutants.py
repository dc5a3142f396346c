"""Damaged copies of files: flipped, cut, filled and doubled bytes, named by a seed."""

import gzip

import numpy as np


def mutate(content: bytes, draw: np.random.Generator) -> bytes:
    """Damage some bytes; headers, at the front, are hit as often as everything else together."""
    damaged = bytearray(content)
    reach = min(len(damaged), 512) if draw.random() < 0.5 else len(damaged)
    kind = draw.integers(5)
    start = int(draw.integers(reach))
    if kind == 0:
        for position in draw.integers(reach, size=draw.integers(1, 9)):
            damaged[position] = int(draw.integers(256))
    elif kind == 1:
        damaged[start] ^= 1 << int(draw.integers(8))
    elif kind == 2:
        del damaged[start:]
    elif kind == 3:
        damaged[start : start + 16] = bytes([int(draw.choice([0, 255]))]) * 16
    else:
        damaged[start:start] = damaged[start : start + int(draw.integers(1, 64))]
    return bytes(damaged)


def mutate_file(content: bytes, suffix: str, draw: np.random.Generator) -> bytes:
    """Damage a file; one in two compressed files is damaged inside, so that the checksum does not notice."""
    if suffix == ".nii.gz" and draw.random() < 0.5:
        return gzip.compress(mutate(gzip.decompress(content), draw), compresslevel=1)
    return mutate(content, draw)
