"""`sphere`, `water` and `jitter` on the GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import I64, Array

from .displace import outside_of
from .gpu import TAPS, interpolation_text, pixel_types

_HERE: Final = Path(__file__).parent
_KERNELS: Final = {
    name: op.CudaKernel(
        "displace",
        (
            None,
            TAPS,
            _HERE / "displaced.cuh",
            *before,
            _HERE / f"{name}.cuh",
            _HERE / "displace.cuh",
        ),
    )
    for name, before in (("sphere", ()), ("water", ()), ("jitter", ("philox.cuh",)))
}


def displace_launch(call: op.Call, name: str, terms: Array, own: I64 | int = 0) -> op.Launch:
    """The launch of `displace`. name: of the operator, and of the file with its `origin_of`; terms:
    what that reads; own: a number for each sample, which it is given."""
    source, target = call.inputs[0], call.outputs[0]
    shapes = source.batch_shape.shapes
    op.refuse_large(source.batch_shape.volumes)
    wide = np.empty((call.size, 3), np.int64)
    wide[:, 0], wide[:, 1] = source.batch_shape.offsets, target.batch_shape.offsets
    wide[:, 2] = own
    moved = np.asarray(call["mask"]) != 0
    narrow = np.concatenate([shapes, moved[:, None]], axis=1)
    table = np.concatenate([wide.view(np.int32), narrow.astype(np.int32)], axis=1)
    blocks = op.blocks_of(np.where(source.batch_shape.volumes, shapes[:, 0] * shapes[:, 1], 0))
    text = interpolation_text(call["interp_type"] == op.InterpType.INTERP_LINEAR)
    return op.Launch(
        _KERNELS[name].unit(pixel_types(source, target), text),
        len(blocks),
        (source.data, op.OutputArg(target.data), table, blocks, terms, *outside_of(call)),
    )
