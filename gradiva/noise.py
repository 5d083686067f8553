"""Random noise that is added to samples. `rng` and `seed` are those of `gradiva.random`."""

from gradiva.ops.noise.gaussian import gaussian
from gradiva.ops.noise.salt_and_pepper import salt_and_pepper
from gradiva.ops.noise.shot import shot

__all__ = ["gaussian", "salt_and_pepper", "shot"]
