"""Regions of images overwritten with values."""
