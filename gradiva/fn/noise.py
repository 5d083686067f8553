"""Random noise that is added to samples, in pipeline mode."""

from gradiva.noise import gaussian, salt_and_pepper, shot

__all__ = ["gaussian", "salt_and_pepper", "shot"]
