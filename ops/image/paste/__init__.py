"""Samples, or parts of several, on another canvas."""
