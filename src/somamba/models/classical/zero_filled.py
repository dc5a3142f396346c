"""The zero-filled image: what every method starts from, and the row that checks data, mask and metric."""

from dataclasses import dataclass

from torch import Tensor
from typing_extensions import override

from somamba.models.base import Reconstructor
from somamba.physics.operator import LinearOperator
from somamba.shapes import Images


@dataclass(frozen=True, kw_only=True)
class ZeroFilledConfig:
    """There is nothing to configure."""


class ZeroFilled(Reconstructor):
    """The zero-filled image ``A^H y``."""

    def __init__(self, config: ZeroFilledConfig | None = None) -> None:
        super().__init__()
        self.config = config or ZeroFilledConfig()

    @override
    def forward(self, y: Tensor, A: LinearOperator) -> Images:
        return self.start(y, A)
