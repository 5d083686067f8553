"""SIMD inside of kernels: intrinsics, vectors of values and of pixels, stores past the caches."""
