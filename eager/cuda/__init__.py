"""A GPU: CuPy, its streams and its memory, the compilation and the launch of kernels."""
