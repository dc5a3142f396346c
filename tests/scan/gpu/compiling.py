"""Compiles a Triton kernel for a GPU that is not here."""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
INTEGERS = ("H", "L", "C", "G", "W", "SIZE", "WIDTH")
SHARED = 48 * 1024
"""What any GPU gives to a block."""


def compile_for(architecture, kernel, constants):
    """The kernel, compiled with four warps as it is launched; constants that it does not take are left out."""
    names = kernel.arg_names
    signature = {name: "constexpr" if name in constants else "i32" if name in INTEGERS else "*fp32" for name in names}
    source = ASTSource(
        fn=kernel,
        signature=signature,
        constexprs={(names.index(name),): value for name, value in constants.items() if name in names},
    )
    target = GPUTarget("cuda", architecture, 32)
    return triton.compile(source, target=target, options={"num_warps": 4, "num_stages": 1})
