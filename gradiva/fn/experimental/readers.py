"""Readers under trial: none of them is there yet."""

from gradiva.fn._old_names import absent

__getattr__ = absent("experimental.readers")

__all__: list[str] = []
