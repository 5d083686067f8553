"""`pixel_values`: the patches of a batch as one array."""

from __future__ import annotations

import numpy as np

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe
from gradiva.eager.types.arrays import Array
from gradiva.eager.values.batch import Batch


def pixel_values(patches: Batch) -> Array:
    """The patches of all samples as one array (patches, values), which vision-language models take.

    Samples that follow each other in memory, as those of `gradiva.patches` do, are not copied: the
    array is a view. torch.from_numpy makes a tensor of it, on the same memory.

    Args:
        patches: a batch on the CPU whose samples have the same number of values in a patch, the
            last axis; of samples (t, h, w, values) all patches follow one another.

    Returns:
        The array, of the batch's dtype; (0, 0) for a batch without samples.

    Raises:
        OperatorTypeError: for what is no batch on the CPU.
        OperatorValueError: for samples without an axis, or with different last axes.

    Example:
        images = gradiva.resize(gradiva.imread(["cat.jpg", "coffee.jpg"]), size=(56, 84))
        rows, grid_thw = gradiva.patches(images, patch_size=14)
        gradiva.pixel_values(rows).shape  # (48, 588)
    """
    if not isinstance(patches, Batch) or patches.device.device_type != "cpu":
        raise OperatorTypeError(
            argument="patches", expected="a batch on the CPU", got=describe(patches)
        )
    shape = patches.batch_shape
    if not len(patches):
        return np.empty((0, 0), patches.data.dtype)
    if not shape.ndim or (shape.shapes[:, -1] != shape.shapes[0, -1]).any():
        raise OperatorValueError(
            "the samples do not have the same number of values in a patch",
            argument="patches",
            expected="samples that differ in the number of patches alone",
            got=f"samples of shape {shape.shape(0)} and {shape.shape(len(patches) - 1)}",
        )
    offsets, volumes, values = shape.offsets, shape.volumes, int(shape.shapes[0, -1])
    if (offsets[1:] == offsets[:-1] + volumes[:-1]).all():
        begin, end = int(offsets[0]), int(offsets[-1] + volumes[-1])
        whole = patches.data[begin:end]
    else:
        whole = np.concatenate([sample.reshape(-1) for sample in patches.arrays()])
    return whole.reshape(-1, values) if values else whole.reshape(0, 0)
