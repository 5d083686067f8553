"""A GPU: CuPy, streams, memory; compiling and launching kernels, sources they share."""
