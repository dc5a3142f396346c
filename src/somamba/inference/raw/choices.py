"""What a user can say about a file that does not tell it itself."""

from dataclasses import dataclass

from somamba.errors import ConfigError
from somamba.inference.raw.arrays import AXES


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Everything is looked for in the file unless it is said here."""

    axes: tuple[str, ...] | None = None
    """The axes of a NumPy array in their order, from slices, coils, y, x."""
    centred: bool | None = None
    """True: zero frequency and object are in the middle. False: the zero frequency is the first sample."""

    def __post_init__(self) -> None:
        if self.axes is None:
            return
        if len(set(self.axes)) != len(self.axes) or not {"y", "x"} <= set(self.axes) <= set(AXES):
            raise ConfigError(
                f"axes {','.join(self.axes)!r} are not understood. Name each axis of the array once, in its order, "
                "from slices, coils, y, x; y and x must be there: for example y,x,coils."
            )
