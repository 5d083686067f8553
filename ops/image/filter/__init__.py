"""Filters: weighted sums, medians and extremes of the pixels around each pixel."""
