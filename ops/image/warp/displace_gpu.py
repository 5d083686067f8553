"""`sphere`, `water` and `jitter` on the GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array, Int64Array

from .displace import outside_of
from .gpu import TAPS, interpolation_text, pixel_types

# Few calls need it, and `import gradiva` must stay fast.
_translate: Any = lazy_module("gradiva.eager.execution.cuda_translate")
_HERE: Final = Path(__file__).parent
_BEFORE: Final = ("arithmetic.cuh", None, TAPS, _HERE / "displaced.cuh")
_KERNELS: Final = {
    name: op.CudaKernel(
        "displace", (*_BEFORE, *files, _HERE / f"{name}.cuh", _HERE / "displace.cuh")
    )
    for name, files in (("sphere", ()), ("water", ()), ("jitter", ("philox.cuh",)))
}


def displace_launch(
    call: op.Call, name: str, terms: Array, own: Int64Array | int = 0, calls: tuple[Any, ...] = ()
) -> op.Launch:
    """The launch of `displace`. name: of the operator, and of the file with its `origin_of`; terms:
    what that reads; own: a number for each sample, which it is given; calls: kernels marked with
    `jit` whose translations it calls."""
    source, target = call.inputs[0], call.outputs[0]
    shapes = source.batch_shape.shapes
    op.refuse_large(source.batch_shape.volumes)
    moved = np.asarray(call["mask"]) != 0
    offsets = [source.batch_shape.offsets, target.batch_shape.offsets, own]
    table = op.struct_rows(offsets, [*shapes.T, moved])
    blocks = op.blocks_of(np.where(source.batch_shape.volumes, shapes[:, 0] * shapes[:, 1], 0))
    text = interpolation_text(call["interp_type"] == op.InterpType.INTERP_LINEAR)
    text += _translate.translation_of(*calls)
    return op.Launch(
        _KERNELS[name].unit(pixel_types(source, target), text),
        blocks.total,
        (source.data, op.OutputArg(target.data), table, blocks.table, terms, *outside_of(call)),
    )
