"""Tests of `eager/simd`."""
