"""Tests of `eager/jit`."""
