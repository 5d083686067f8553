"""Operators on a GPU: kernels that many of them share, and how one call runs."""
