"""GPU kernels without a GPU: NVRTC, and the same source on the CPU."""
