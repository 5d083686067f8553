"""Samples full of given values."""
