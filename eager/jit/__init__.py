"""Numba: compiling kernels, keeping them, calling them in threads."""
