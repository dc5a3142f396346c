"""What a network costs, as a line of a CSV file. No torch."""

from dataclasses import dataclass

from somamba.errors import InputError
from somamba.results.record import check_values


@dataclass(frozen=True, kw_only=True)
class CostRecord:
    """One untrained network on one image; MACs are the multiply-accumulates of one forward pass."""

    method: str
    """Name of the model."""
    height: int
    width: int
    parameters: int
    """Number of trainable parameters."""
    module_macs: int
    """MACs of layers only, as the paper counts."""
    all_macs: int
    """MACs of every matrix product and convolution that runs."""
    scan_macs: int
    """MACs of the recurrence, by formula."""
    fft_macs: int
    """MACs of Fourier transforms, by formula."""
    seconds: float
    """Seconds of one inference on this machine, best of several; 0 if it was not measured."""
    megabytes: float
    """Peak memory added by one inference, in MB; 0 if it was not measured."""
    threads: int
    """Number of CPU threads used."""
    processor: str
    """Processor that the seconds were measured on; empty if they were not."""
    commit: str
    """Git commit of the code that was measured."""
    command: str
    """The command that counts and measures it again."""

    def __post_init__(self) -> None:
        check_values(self, f"Cost of {self.method}")
        if self.seconds < 0 or self.megabytes < 0:
            raise InputError(f"Cost of {self.method}: seconds and megabytes cannot be negative.")

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the image."""
        return self.height, self.width
