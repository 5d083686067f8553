"""Single batches as JAX arrays, under the module name that some scripts import."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.capture.pipeline.outputs import TensorGPU
from gradiva.eager.support.errors import annotate_error, describe, wrong_type
from gradiva.eager.types.device import CPU
from gradiva.plugin.jax.arrays import jax, placed

__all__ = ["TensorGPU"]


def _to_jax_array(dali_tensor: Any, copy: bool) -> Any:
    """A tensor or a dense batch as an array of JAX, on the device where it is.

    copy: of its own memory; otherwise it shares that of the batch. Raises OperatorTypeError for
    what is neither.
    """
    with annotate_error("_to_jax_array"):
        if not hasattr(dali_tensor, "__dlpack__"):
            raise wrong_type("dali_tensor", "a tensor or a batch", describe(dali_tensor))
        if getattr(dali_tensor, "device", None) is not CPU:
            made = jax.dlpack.from_dlpack(dali_tensor)
        elif hasattr(dali_tensor, "as_array"):
            made = placed(dali_tensor.as_array())
        else:
            made = placed(np.asarray(dali_tensor))
    return made.copy() if copy else made


def _jax_device(jax_array: Any) -> Any:
    """The device that an array lies on."""
    return jax_array.device
