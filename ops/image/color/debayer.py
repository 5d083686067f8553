"""`debayer`: color images from what a sensor behind a Bayer filter saw."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.cases import samples
from gradiva.eager.support.opencv import cv2

_TILES: Final = {(0, 0): "BG", (0, 1): "GB", (1, 0): "GR", (1, 1): "RG"}
_ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}
_CODES: Final = {
    "bilinear_ocv": "RGB",
    "edgeaware_ocv": "RGB_EA",
    "vng_ocv": "RGB_VNG",
    "gray_ocv": "GRAY",
}


@op.operator("debayer", schema="Debayer", formerly=("experimental.debayer",))
def debayer(
    input: op.SampleType,
    /,
    *,
    blue_position: op.IntsArg,
    algorithm: str = "bilinear_ocv",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Turn the values of a Bayer sensor into color images, by OpenCV.

    The colors that a pixel lacks are interpolated from its neighbors.

    Args:
        input: uint8 or uint16; layouts HW, HWC with one channel, FHW, FHWC with one channel.
            Without a layout HW, HWC or FHWC by rank. H and W must be even.
        blue_position: (y, x) of the blue pixel among the 2x2 pixels that begin in the second row
            and column, 0 or 1 each; by this tile OpenCV names its patterns. May differ per sample.
        algorithm: "bilinear_ocv", "edgeaware_ocv", "vng_ocv" (uint8 only) or "gray_ocv", which
            gives gray images.

    Returns:
        HWC or FHWC samples of the same dtype, RGB, with one channel if gray.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for odd sizes, for more channels and for other arguments.

    Example:
        raw = np.zeros((48, 64), np.uint16)  # the values of a Bayer sensor
        gradiva.debayer(raw, blue_position=(0, 0)).shape  # (48, 64, 3)
    """
    op.require_dtype(input, (op.uint8, op.uint16))
    if isinstance(blue_position, tuple):
        _tile(blue_position)
    if algorithm not in _CODES:
        raise op.wrong_value("algorithm", f"one of {', '.join(_CODES)}", repr(algorithm))
    if algorithm == "vng_ocv":
        op.require_dtype(input, (op.uint8,))
    layout = op.require_layout(input, ("HW", "HWC", "FHW", "FHWC"), _ASSUMED)
    if layout is None:
        return input.with_(ndim=None, layout=None)
    result = "FHWC" if layout[0] == "F" else "HWC"
    return input.with_(ndim=len(result), layout=result)


def _tile(position: Sequence[int], sample: int | None = None) -> str:
    """OpenCV's name of the pattern. Raises OperatorValueError."""
    found = _TILES.get((position[0], position[1])) if len(position) == 2 else None
    if found is None:
        raise op.wrong_value(
            "blue_position", "two numbers, 0 or 1 each: y and x", tuple(position), sample=sample
        )
    return found


debayer.libraries = ("opencv-python-headless",)


debayer.moves = op.IN_PLACE


@debayer.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    source = call.inputs[0]
    shapes = source.batch_shape.shapes
    layout = source.layout or _ASSUMED[shapes.shape[1]]
    height = layout.index("H")
    if layout[-1] == "C":
        _refuse(shapes[:, -1] != 1, "the input has several channels", "1", shapes[:, -1:])
    sizes = shapes[:, height : height + 2]
    _refuse((sizes % 2 != 0).any(axis=1), "the size is odd", "even numbers", sizes)
    result = np.empty((len(shapes), height + 3), np.int64)
    result[:, : height + 2] = shapes[:, : height + 2]
    result[:, -1] = 1 if call["algorithm"] == "gray_ocv" else 3
    return result


def _refuse(wrong: Any, problem: str, expected: str, facts: op.Int64Array) -> None:
    op.refuse_samples(wrong, "", expected, lambda i: " x ".join(map(str, facts[i])), problem)


@debayer.cpu
def _cpu(call: op.Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    kind = _CODES[call["algorithm"]]
    tiles = [_tile(place, sample) for sample, place in enumerate(call["blue_position"].tolist())]
    codes = [getattr(cv2, f"COLOR_Bayer{tile}2{kind}") for tile in tiles]
    mosaics, outs = source.arrays(), target.arrays()
    single = source.layout == "HW"

    def interpolate(sample: int) -> None:
        mosaic, out = mosaics[sample], outs[sample]
        if not out.size:
            return
        if single:
            _interpolate(mosaic, codes[sample], out)
            return
        frames = mosaic.reshape(-1, *out.shape[-3:-1])
        for frame, image in zip(frames, out.reshape(-1, *out.shape[-3:]), strict=True):
            _interpolate(frame, codes[sample], image)

    call.each_sample(interpolate, source.batch_shape.volumes.tolist())


def _interpolate(mosaic: Any, code: int, out: Any) -> None:
    made = cv2.demosaicing(mosaic, code, dst=out)
    if made is not out and not np.may_share_memory(made, out):
        out[...] = made.reshape(out.shape)


_WAYS: Final = {
    "bilinear_ocv": "Bilinear",
    "edgeaware_ocv": "EdgeAware",
    "vng_ocv": "Gradients",
    "gray_ocv": "Gray",
}
_HERE: Final = Path(__file__).parent
_FILES: Final = tuple(
    _HERE / f"{name}.cuh" for name in ("debayer_ways", "debayer_gradients", "debayer")
)
_KERNEL: Final = op.CudaKernel("debayer", _FILES)
_GRADIENTS: Final = op.CudaKernel("debayer", _FILES, registers=128)
"""It looks at 49 pixels, for eight directions."""


@debayer.gpu
def _gpu(call: op.Call) -> op.Launch:
    source, target = call.inputs[0], call.outputs[0]
    for sample, place in enumerate(call["blue_position"].tolist()):
        _tile(place, sample)
    down, across = np.asarray(call["blue_position"]).T
    shapes = target.batch_shape.shapes
    pixels = source.batch_shape.volumes
    rows = [source.batch_shape.offsets, target.batch_shape.offsets, pixels, *shapes[:, -3:-1].T]
    rows += [down != across, down == 1]
    samples = np.stack(rows, axis=1).astype(np.int64)
    blocks = op.blocks_of(pixels)
    types = {"Source": op.type_name(source.data.dtype), "Way": f"struct {_WAYS[call['algorithm']]}"}
    arguments = source.data, op.OutputArg(target.data), samples, blocks.table
    kernel = _GRADIENTS if call["algorithm"] == "vng_ocv" else _KERNEL
    return op.Launch(kernel.unit(types), blocks.total, arguments)


@debayer.cases
def _cases() -> list[op.Case]:
    mosaics = samples((8, 10), (4, 2), (6, 12), layout="HW")
    flat = samples((4, 6), low=90, high=90, layout="HW")
    frames = samples((2, 4, 6, 1), layout="FHWC")
    bare = samples((2, 4, 6, 1), layout="")
    deep = samples((8, 10, 1), dtype=op.uint16)
    corner = {"blue_position": [0, 0]}
    return [
        op.case("one color", flat, **corner).equals([np.full((4, 6, 3), 90, np.uint8)]),
        op.case("red first", mosaics, blue_position=[1, 1]),
        op.case("edges", mosaics, blue_position=[0, 1], algorithm="edgeaware_ocv"),
        op.case("gradients", mosaics, blue_position=[1, 0], algorithm="vng_ocv"),
        op.case("gray", flat, **corner, algorithm="gray_ocv").equals(
            [np.full((4, 6, 1), 90, np.uint8)]
        ),
        op.case("sequence", frames, **corner),
        op.case("sequence without a layout", bare, **corner),
        op.case("uint16", deep, **corner),
        op.case("per sample", mosaics, blue_position=[[0, 0], [0, 1], [1, 1]]),
        op.case("empty", samples(layout="HW"), **corner).equals([]),
        op.case("odd size", samples((5, 4), layout="HW"), **corner).value_error("odd"),
        op.case("three channels", samples((4, 4, 3)), **corner).value_error("channels"),
        op.case("wrong dtype", samples((4, 4), dtype=op.float32, layout="HW"), **corner).type_error(
            "float32"
        ),
        op.case("no such place", mosaics, blue_position=[2, 0]).value_error("`blue_position`"),
        op.case(
            "no such place in a sample", mosaics, blue_position=[[0, 0], [0, 2], [1, 1]]
        ).value_error("sample 1"),
        op.case("no such algorithm", mosaics, **corner, algorithm="best").value_error(
            "`algorithm`"
        ),
    ]
