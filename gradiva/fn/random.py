"""Random values in pipeline mode: one value per sample, the batch size being the pipeline's."""

from gradiva import random as _random
from gradiva.capture.recording.free_calls import per_sample

beta = per_sample(_random.beta)
choice = per_sample(_random.choice)
coin_flip = per_sample(_random.coin_flip)
normal = per_sample(_random.normal)
uniform = per_sample(_random.uniform)

__all__ = ["beta", "choice", "coin_flip", "normal", "uniform"]
