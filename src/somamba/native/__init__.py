"""Compiled kernels with a plain C interface, and how they are found."""
