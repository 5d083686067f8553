"""Brightness, contrast, hue, color spaces, histograms."""
