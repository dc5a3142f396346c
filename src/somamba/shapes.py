"""The vocabulary of axes. A name means the same thing in every file.

batch     slices processed together
coils     receive coils; 1 for single-coil data
images    1, or one for every coil if coils are not combined, or one for every set of maps
sets      sets of coil maps; 2 if an object is larger than the field of view
y x       image rows and columns, and their k-space counterparts, centred
rows columns  the grid of tokens inside a network; its last axis holds the channels, whose number changes on the way
tokens    rows * columns, in scan order
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
MapSets = Complex[Tensor, "batch sets coils y x"]
KSpace = Complex[Tensor, "batch coils y x"]
Mask = Bool[Tensor, "#batch 1 #y x"]
Grid = Float[Tensor, "batch rows columns _"]
