"""Builds the compiled kernels. They are optional: without a C++ compiler the install succeeds all the same.

The kernels are a plain C library that Python never imports (`somamba.native.library` loads it by ctypes). One build
therefore serves every Python from 3.11 on, and its wheel says so: cp311-abi3.
"""

import shlex
import subprocess
import sys
from os import environ
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

SOURCE = Path("src/somamba/native/source")
FLAGS = ["-std=c++17", "-O3", "-fno-math-errno", "-fno-trapping-math"]
# Microsoft's compiler has no vector types, and GCC does not align the stack for AVX on Windows (its bug 54412). The
# Clang in the PyPI package ziglang has neither fault; pyproject.toml requires it for building there.
ON_WINDOWS = [sys.executable, "-m", "ziglang", "c++", "-target", "x86_64-windows-gnu", "-mcpu=x86_64"]


class BuildKernels(build_ext):
    """Compiles the kernels; on Windows in one command, because setuptools knows Microsoft's compiler alone."""

    def build_extension(self, ext):
        if sys.platform != "win32":
            return super().build_extension(ext)
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = shlex.split(environ["CXX"]) if "CXX" in environ else ON_WINDOWS
        command = [*compiler, *FLAGS, "-w", "-shared", "-s", "-o", str(target), *ext.sources]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise CompileError(f"the kernels could not be compiled: {error}") from error


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Extension(
            "somamba.native.kernels",
            sources=sorted(map(str, SOURCE.glob("*.cpp"))),
            depends=sorted(map(str, SOURCE.glob("*.h"))),
            extra_compile_args=[*FLAGS, "-g0", "-Wno-psabi", "-pthread"],
            extra_link_args=["-pthread"],
            language="c++",
            optional=True,
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
