"""The operators, under the names of pipeline mode."""

from gradiva import math as math
from gradiva.capture.constants import constant as constant
from gradiva.fn import decoders as decoders
from gradiva.fn import experimental as experimental
from gradiva.fn import io as io
from gradiva.fn import noise as noise
from gradiva.fn import random as random
from gradiva.fn import readers as readers
from gradiva.fn import reductions as reductions
from gradiva.fn import segmentation as segmentation
from gradiva.fn import transforms as transforms
from gradiva.operators import *  # noqa: F403
from gradiva.ops.generic.external_source import external_source as external_source

# Names of old scripts.
coin_flip = random.coin_flip
file_reader = readers.file
image_decoder = decoders.image
image_decoder_crop = decoders.image_crop
image_decoder_random_crop = decoders.image_random_crop
image_decoder_slice = decoders.image_slice
normal_distribution = random.normal
uniform = random.uniform
