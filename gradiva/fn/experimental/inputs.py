"""Inputs that are fed while they are read: none of them is there yet."""

from gradiva.fn._old_names import absent

__getattr__ = absent("experimental.inputs")

__all__: list[str] = []
