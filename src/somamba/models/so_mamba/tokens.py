"""Grid to token sequence and back: ``Tokenize`` of Sec. 2.4, in the scan orders that a config can name."""

from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from somamba.shapes import Grid

Tokens = Float[Tensor, "batch tokens channels"]


def tokenize(grid: Grid, order: str) -> Tokens:
    """Lay the grid out as a sequence; ``rows`` is row-major and costs nothing."""
    if order.startswith("columns"):
        grid = grid.transpose(1, 2)
    tokens = rearrange(grid, "b y x c -> b (y x) c")
    return tokens.flip(1) if order.endswith("reversed") else tokens


def untokenize(tokens: Tokens, size: tuple[int, int], order: str) -> Grid:
    """Undo `tokenize`.

    Args:
        tokens: The tokens.
        size: Rows and columns of the grid.
        order: The order in which they were taken.
    """
    height, width = size
    if order.endswith("reversed"):
        tokens = tokens.flip(1)
    if order.startswith("columns"):
        return rearrange(tokens, "b (x y) c -> b y x c", y=height, x=width)
    return rearrange(tokens, "b (y x) c -> b y x c", y=height, x=width)
