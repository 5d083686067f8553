"""Random values in pipeline mode: one value per sample, the batch size being the pipeline's."""

from gradiva.capture.recording.recorder import per_sample
from gradiva.ops.random import beta as _beta
from gradiva.ops.random import choice as _choice
from gradiva.ops.random import coin_flip as _coin_flip
from gradiva.ops.random import normal as _normal
from gradiva.ops.random import uniform as _uniform

beta = per_sample(_beta.beta)
choice = per_sample(_choice.choice)
coin_flip = per_sample(_coin_flip.coin_flip)
normal = per_sample(_normal.normal)
uniform = per_sample(_uniform.uniform)

__all__ = ["beta", "choice", "coin_flip", "normal", "uniform"]
