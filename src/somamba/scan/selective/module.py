"""The selective scan as a module: the place where hooks see what goes in and what comes out."""

from torch import Tensor, nn

from somamba.scan.selective.backends import selective_scan
from somamba.scan.selective.inputs import SelectiveInputs


class SelectiveScan(nn.Module):
    """Runs the selective scan with one backend. It learns nothing."""

    def __init__(self, backend: str = "auto") -> None:
        super().__init__()
        self.backend = backend

    def forward(self, inputs: SelectiveInputs) -> Tensor:
        """Return the read-out ``(batch, tokens, channels)``."""
        return selective_scan(inputs, backend=self.backend).readout

    def extra_repr(self) -> str:
        """Show the backend."""
        return f"backend={self.backend!r}"
