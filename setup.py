"""Builds the compiled kernels. They are optional: without a C++ compiler the install succeeds and plain PyTorch runs."""

from glob import glob

from setuptools import Extension, setup

SOURCE = "src/somamba/native/source"

setup(
    ext_modules=[
        Extension(
            "somamba.native.kernels",
            sources=sorted(glob(f"{SOURCE}/*.cpp")),
            depends=sorted(glob(f"{SOURCE}/*.h")),
            extra_compile_args=["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-pthread"],
            extra_link_args=["-pthread"],
            language="c++",
            optional=True,
        )
    ]
)
