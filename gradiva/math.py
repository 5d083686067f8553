"""Mathematical functions of batches, tensors, symbols, arrays and numbers, in both modes."""

from gradiva.ops.math.functions import *  # noqa: F403
from gradiva.ops.math.functions import __all__ as __all__
