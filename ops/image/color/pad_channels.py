"""`pad_channels`: what `crop_mirror_normalize` does with `pad_output`; compiled graphs hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import F32Vector, Float32Array, Table

from .crop_mirror_normalize_plan import padded_channels

_LAYOUTS = ("HWC", "DHWC", "FHWC", "FDHWC")


@op.operator("pad_channels")
def pad_channels(input: op.SampleType, /) -> op.SampleType:
    """Add channels of zeros behind those of the input, up to a power of two.

    Args:
        input: any dtype; layouts HWC, DHWC, FHWC and FDHWC.

    Returns:
        Samples of the same shapes but for the number of channels.

    Raises:
        OperatorTypeError: for other layouts.
    """
    return op.with_layout(input, op.require_layout(input, _LAYOUTS, {}))


pad_channels.moves = op.IN_PLACE


@pad_channels.shapes
def _shapes(call: op.Call) -> op.BatchShape:
    shapes = call.inputs[0].batch_shape.shapes.copy()
    shapes[:, -1] = padded_channels(shapes[:, -1])
    return op.BatchShape.of(shapes)


@op.row_kernel("mixing")
def pad_row(source: Table, target: Table, row: F32Vector) -> None:
    """One strip: rows of the channels that there are, then rows of zeros."""
    for c in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[c, k] = source[c, k]
    for c in range(source.shape[0], target.shape[0]):
        for k in range(target.shape[1]):
            target[c, k] = 0


def _made(call: op.Call) -> int:
    return int(padded_channels(call.inputs[0].batch_shape.shapes[:1, -1])[0])


@op.pixelwise(pad_channels, pad_row, _made, keeps_values=True)
def _parameters(call: op.Call) -> Float32Array:
    """There are none."""
    return np.zeros((call.size, 1, 1), np.float32)


@pad_channels.cpu
def _cpu(call: op.Call) -> None:
    """Alone, also where the samples of a batch have different numbers of channels."""
    sources, targets = call.inputs[0].arrays(), call.outputs[0].arrays()

    def pad(sample: int) -> None:
        source, target = sources[sample], targets[sample]
        target[..., : source.shape[-1]] = source
        target[..., source.shape[-1] :] = 0

    call.each_sample(pad)


@pad_channels.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3))
    mixed = op.samples((2, 3, 1), (2, 3, 3), (1, 1, 4), dtype=op.int16)

    def padded(image: Any, count: int) -> Any:
        return np.concatenate([image, np.zeros((*image.shape[:2], count), image.dtype)], axis=2)

    return [
        op.case("three", images).equals([padded(images.at(i), 1) for i in range(2)]).no_oracle(),
        op.case("mixed", mixed)
        .equals([padded(mixed.at(i), count) for i, count in enumerate((0, 1, 0))])
        .no_oracle(),
        op.case("power of two", op.samples((2, 3, 4), dtype=op.float32)).no_oracle(),
        op.case("empty", op.samples()).equals([]).no_oracle(),
        op.case("planes", op.samples((3, 2, 2), layout="CHW")).type_error("HWC"),
    ]
