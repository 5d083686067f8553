"""The operators, under the names of pipeline mode."""

from gradiva import math as math
from gradiva.capture.constants import constant as constant
from gradiva.fn import decoders as decoders
from gradiva.fn import experimental as experimental
from gradiva.fn import random as random
from gradiva.fn import readers as readers

# Names of old scripts.
from gradiva.fn.decoders import image as image_decoder
from gradiva.fn.decoders import image_crop as image_decoder_crop
from gradiva.fn.decoders import image_random_crop as image_decoder_random_crop
from gradiva.fn.decoders import image_slice as image_decoder_slice
from gradiva.fn.random import coin_flip as coin_flip
from gradiva.fn.random import normal as normal_distribution
from gradiva.fn.random import uniform as uniform
from gradiva.fn.readers import file as file_reader
from gradiva.operators import *  # noqa: F403
from gradiva.ops.generic.external_source import external_source as external_source

__all__ = [name for name in globals() if not name.startswith("_")]  # noqa: PLE0605
