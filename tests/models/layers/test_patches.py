"""Patches become tokens and tokens become patches, each for itself and in its place."""

import torch
import torch.nn.functional as F

from somamba.models.layers.patches import PatchEmbedding, PatchExpansion


def test_a_token_is_the_normed_projection_of_its_patch(rng):
    embed = PatchEmbedding(images=2, patch=3, channels=5)
    image = torch.randn(1, 2, 6, 9, generator=rng)
    tokens = embed(image)
    assert tokens.shape == (1, 2, 3, 5)
    patch = image[0, :, 3:6, 6:9].flatten()
    expected = F.layer_norm(embed.project.weight.flatten(1) @ patch + embed.project.bias, (5,))
    torch.testing.assert_close(tokens[0, 1, 2], expected)


def test_a_token_becomes_the_patch_at_its_place(rng):
    expand = PatchExpansion(channels=5, patch=2, finer=3)
    grid = torch.randn(1, 4, 6, 5, generator=rng)
    fine = expand(grid)
    assert fine.shape == (1, 8, 12, 3)
    expected = (expand.project.weight @ grid[0, 2, 1]).view(2, 2, 3)
    torch.testing.assert_close(fine[0, 4:6, 2:4], expected)
