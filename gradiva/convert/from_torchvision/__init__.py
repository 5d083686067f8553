"""Transforms of torchvision."""
