"""What kernels call: intrinsics, SIMD vectors of values and of pixels, functions of C libraries."""
