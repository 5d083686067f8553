"""Mathematical functions of batches, tensors, symbols, arrays and numbers, in both modes."""

from gradiva.ops.generic.functions import *  # noqa: F403
from gradiva.ops.generic.functions import __all__ as __all__
