"""All of gradiva, for tests of what is true of all: else names are imported when somebody asks."""

from __future__ import annotations

__all__ = ["EVERYTHING"]

EVERYTHING = """
import gradiva
from gradiva.eager.operators.operator import operators
list(operators), [getattr(gradiva, name) for name in gradiva.__all__]
"""
"""A program that imports every operator and all that `gradiva` has."""
