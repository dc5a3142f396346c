"""Builds the compiled kernels. They are optional: without a C++ compiler the install succeeds all the same."""

from pathlib import Path

from setuptools import Extension, setup

SOURCE = Path("src/somamba/native/source")

setup(
    ext_modules=[
        Extension(
            "somamba.native.kernels",
            sources=sorted(map(str, SOURCE.glob("*.cpp"))),
            depends=sorted(map(str, SOURCE.glob("*.h"))),
            extra_compile_args=["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-pthread"],
            extra_link_args=["-pthread"],
            language="c++",
            optional=True,
        )
    ]
)
