"""The vocabulary of axes. A name means the same thing in every file.

batch     slices processed together
coils     receive coils; 1 for single-coil data
images    1, or one for every coil where coils are not combined
y x       image rows and columns, and their k-space counterparts, centred
channels  real feature maps inside a network; the last axis there (tokens are rows of a matrix)
tokens    y * x of the token grid, in scan order
heads p   heads of the mixer and their width (``d_head``)
n         state size (``d_state``)
rank      MIMO rank
groups    sets of heads that share B and C
angles    rotations of the state, each turns one pair of its entries
"""

from jaxtyping import Bool, Complex, Float
from torch import Tensor

Image = Complex[Tensor, "batch 1 y x"]
Images = Complex[Tensor, "batch images y x"]
CoilImages = Complex[Tensor, "batch coils y x"]
KSpace = Complex[Tensor, "batch coils y x"]
Mask = Bool[Tensor, "#batch 1 #y x"]
Grid = Float[Tensor, "batch y x channels"]
