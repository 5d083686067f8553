"""CUDA kernels: what an operator declares of them, their compilation. Nothing here needs a GPU."""
