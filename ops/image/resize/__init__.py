"""Resizing: sizes and filters from arguments, separable resampling."""
