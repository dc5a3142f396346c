"""The scan as a module: the place where hooks see what goes in and what comes out."""

from torch import Tensor, nn

from somamba.scan.backends import scan
from somamba.scan.inputs import ScanInputs


class Scan(nn.Module):
    """Runs the Mamba-3 MIMO scan with one backend. It learns nothing."""

    def __init__(self, backend: str = "auto") -> None:
        super().__init__()
        self.backend = backend

    def forward(self, inputs: ScanInputs) -> Tensor:
        """Return the read-out ``(batch, tokens, heads, p)``."""
        return scan(inputs, backend=self.backend).readout

    def extra_repr(self) -> str:
        """Show the backend."""
        return f"backend={self.backend!r}"
