"""Functions of C libraries, called from kernels."""
