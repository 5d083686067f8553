"""Transforms of Albumentations."""
