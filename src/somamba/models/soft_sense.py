"""A network for one image, applied to an object larger than the field of view, which needs two (soft-SENSE).

What lies outside of the field of view is folded onto what lies inside, and coils see both at one pixel. The operator
then has two sets of maps and wants one image for each (Uecker et al., MRM 2014). The second image is made by least
squares, what it explains is taken off the measurements, and the network makes the first image of the rest.
"""

import torch
from torch import Tensor
from typing_extensions import override

from somamba.models.base import Reconstructor
from somamba.models.classical.cg_sense import CGSense
from somamba.physics.encoding import coil_maps, encoding
from somamba.physics.held_out import sampled_mask
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images


class SoftSense(Reconstructor):
    """A network, made ready for two sets of maps; with one set, or without maps, it is the network as it is."""

    def __init__(self, network: Reconstructor) -> None:
        super().__init__()
        self.network = network
        self.least_squares = CGSense()

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        maps = coil_maps(A)
        if maps is None or maps.ndim == 4:
            image: Images = self.network(y, A)
            return image
        second = self.least_squares(y, A)[:, 1:]
        mask = sampled_mask(A)
        rest = y - encoding(mask, maps[:, 1])(second)
        return torch.cat([self.network(rest, encoding(mask, maps[:, 0])), second], dim=1)
