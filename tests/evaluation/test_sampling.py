"""What a row says about the masks of a case."""

import pytest
import torch

from somamba.evaluation.sampling import over_slices, sampled
from somamba.physics.sampling_mask import SamplingMask

ODD = torch.arange(24).reshape(4, 6) % 2 == 1
FEW = torch.arange(24).reshape(4, 6) % 6 == 0


def facts(*patterns):
    return torch.tensor([sampled(pattern) for pattern in patterns])


def test_a_mask_common_to_all_slices_keeps_its_digest():
    found = over_slices(facts(ODD, ODD))
    assert found.mask_digest == SamplingMask(ODD, "odd", 2).digest
    assert found.realised_acceleration == 2


def test_masks_of_slices_have_a_digest_of_all_and_share_their_samples():
    found = over_slices(facts(ODD, FEW))
    assert found.mask_digest not in {SamplingMask(pattern, "x", 2).digest for pattern in (ODD, FEW)}
    assert found.mask_digest != over_slices(facts(FEW, ODD)).mask_digest
    assert found.realised_acceleration == pytest.approx(48 / 16)


def test_a_digest_survives_the_sum_of_signed_numbers():
    # Digests fill 64 bits, and about half of them are negative numbers for torch.
    generator = torch.Generator().manual_seed(0)
    patterns = [torch.rand(8, 8, generator=generator) < 0.5 for _ in range(16)]
    assert any(sampled(pattern)[0] < 0 for pattern in patterns)
    for pattern in patterns:
        shared = facts(pattern) + torch.zeros(1, 3, dtype=torch.int64)
        assert over_slices(shared).mask_digest == SamplingMask(pattern, "x", 2).digest
