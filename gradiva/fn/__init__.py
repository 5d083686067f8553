"""The operators, under the names of pipeline mode."""

from gradiva import math as math
from gradiva.fn import decoders as decoders
from gradiva.fn import random as random
from gradiva.fn import readers as readers
from gradiva.operators import *  # noqa: F403
from gradiva.ops.generic.external_source import external_source as external_source
