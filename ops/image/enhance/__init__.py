"""Operators with the results of torchvision and Pillow, and the arithmetic behind `compat`."""
