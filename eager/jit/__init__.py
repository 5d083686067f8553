"""Kernels that Numba compiles, and the row kernels and conversions that operators share."""
