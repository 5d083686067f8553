"""`laplacian`: the sum of the second derivatives along the axes of an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import (
    Array,
    F32Table,
    F32Vector,
    Float32Array,
    I64Table,
    I64Volume,
    Slabs,
)

from .blur_gpu import Windows, blur_launches
from .blur_rows import blur_row, convert_line, reflect, symmetric
from .blur_windows import blurred_type, extents_of
from .laplacian_windows import laplacian_windows


@op.operator(
    "laplacian",
    schema="Laplacian",
    frames=("scale", "smoothing_size", "window_size", "CF"),
    same_shapes=True,
)
def laplacian(
    input: op.SampleType,
    /,
    *,
    window_size: op.IntsArg = 3,
    smoothing_size: op.IntsArg | None = None,
    scale: op.FloatsArg | None = None,
    normalized_kernel: bool = False,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Compute the Laplacian: the sum of the second derivatives along each of the axes D, H, W.

    Smoothing windows are binomial coefficients, those of derivatives their second differences (for
    size 3: 1, -2, 1), as in OpenCV's Laplacian. Beyond the border pixels are mirrored, the
    outermost one not repeated. The sums are float32, along W, then H, then D; the derivatives are
    scaled and added in the order of the axes; then the value is rounded half away from zero.

    Args:
        input: any dtype but bool; layouts HWC, CHW, HW, W and these with D or F; H, W and D may be
            other letters. Without a layout samples have at most 3 axes, all of which count.
        window_size: the window size of the derivatives: odd, 3 to 31, one or one per axis; may
            differ per sample.
        smoothing_size: the size of the windows that smooth each derivative along the other axes:
            odd, 1 (no smoothing) to 31, one or one per axis; may differ per sample. By default the
            window size of the derivative.
        scale: factors of the derivatives, one or one per axis, 1 by default; may differ per sample.
        normalized_kernel: scale each derivative by 2 ** (n + 2 - s), with n axes and s the sum of
            the sizes of its windows; not together with `scale`.
        dtype: the element type of the output: float32 or that of the input, which is the default.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other dtypes and layouts.
        OperatorValueError: for other sizes.

    Example:
        edges = gradiva.laplacian(gradiva.imread("cat.jpg"), window_size=3, dtype="float32")
    """
    return blurred_type(input, dtype)


@op.jit
def _add_line(source: F32Vector, factor: np.float32, target: F32Vector) -> None:
    """Add a line times a factor to another line."""
    for j in range(source.size):
        target[j] = target[j] + factor * source[j]


@op.jit
def _memory(
    extents: I64Table, halves: I64Volume, begin: int, end: int
) -> tuple[int, int, int, int]:
    """How much memory the largest of some samples takes, in elements: a padded row, the taps of a
    window, the rows that a window spans, and a volume, 0 where nothing is smoothed along D."""
    pitch, most, rings, volume = 1, 1, 1, 0
    for i in range(begin, end):
        row = extents[i, 3] * extents[i, 4]
        deep = False
        for a in range(halves.shape[1]):
            pitch = max(pitch, row + 2 * halves[i, a, 2] * extents[i, 4])
            rings = max(rings, (2 * halves[i, a, 1] + 1) * row)
            for axis in range(3):
                most = max(most, 2 * halves[i, a, axis] + 1)
            deep = deep or halves[i, a, 0] > 0
        if deep:
            volume = max(volume, extents[i, 1] * extents[i, 2] * row)
    return pitch, most, rings, volume


@op.jit
def _derive_samples(
    slabs: Slabs,
    extents: I64Table,
    weights: Array,
    halves: I64Volume,
    factors: F32Table,
    begin: int,
    end: int,
) -> None:
    """extents: (planes, D, H, W, C). Each derivative is a blur with windows of its own."""
    src, src_offsets, dst, dst_offsets = slabs
    partials = weights.shape[1]
    pitch, most, rings, volume = _memory(extents, halves, begin, end)
    line, out = np.empty(pitch, np.float32), np.empty(pitch, np.float32)
    ring, total = np.empty((partials, rings), np.float32), np.empty(pitch, np.float32)
    tags, at = np.empty((partials, most), np.int64), np.empty(most, np.int64)
    slots = np.empty(most, np.int64)
    whole, sums = np.empty(volume, np.float32), np.empty(volume, np.float32)
    for i in range(begin, end):
        planes, depth, height = extents[i, 0], extents[i, 1], extents[i, 2]
        channels = extents[i, 4]
        row = extents[i, 3] * channels
        size = depth * height * row
        if size == 0:
            continue
        for p in range(planes):
            base, to = src_offsets[i] + p * size, dst_offsets[i] + p * size
            if partials < 3:
                for a in range(partials):  # an assignment to the whole takes 2 s to compile
                    for k in range(most):
                        tags[a, k] = -1
                for y in range(height):
                    total[:row] = np.float32(0)
                    for a in range(partials):
                        own = (line, ring[a], tags[a], at, slots, out)
                        plane = (src, base, row, channels, height)
                        blur_row(plane, y, weights[i, a], halves[i, a], own)
                        _add_line(out[:row], factors[i, a], total[:row])
                    convert_line(total[:row], dst[to + y * row : to + (y + 1) * row])
                continue
            sums[:size] = np.float32(0)
            for a in range(partials):
                for z in range(depth):
                    tags[0] = -1
                    for y in range(height):
                        own = (line, ring[0], tags[0], at, slots, out)
                        plane = (src, base + z * height * row, row, channels, height)
                        blur_row(plane, y, weights[i, a], halves[i, a], own)
                        there = (z * height + y) * row
                        whole[there : there + row] = out[:row]
                half = halves[i, a, 0]
                for z in range(depth):
                    for y in range(height):
                        for k in range(2 * half + 1):
                            at[k] = (reflect(z + k - half, depth) * height + y) * row
                        symmetric(whole, at, weights[i, a, 0], half, row, out)
                        there = (z * height + y) * row
                        _add_line(out[:row], factors[i, a], sums[there : there + row])
            convert_line(sums[:size], dst[to : to + size])


def _windows(call: op.Call) -> tuple[op.Int64Array, Float32Array, op.Int64Array, Float32Array]:
    """Extents, and what `laplacian_windows` returns."""
    op.warn_of_mixed_channels(call.operator.name, call.inputs[0])
    extents, axes = extents_of(call.inputs[0].layout, call.inputs[0].batch_shape.shapes)
    sizes, scale = (call["window_size"], call["smoothing_size"]), call["scale"]
    return extents, *laplacian_windows(*sizes, scale, call["normalized_kernel"], axes, call.size)


@laplacian.cpu
def _cpu(call: op.Call) -> None:
    call.for_slabs(_derive_samples, *_windows(call))


@laplacian.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    _, weights, halves, factors = _windows(call)
    parts = [
        Windows(weights[:, axis], halves[:, axis], np.ascontiguousarray(factors[:, axis]))
        for axis in range(weights.shape[1])
    ]
    return blur_launches(call, parts)


def _expected(image: Array, axes: tuple[int, ...]) -> Any:
    """Without smoothing, by differences of whole numbers."""
    values = image.astype(np.int64)
    total = np.zeros_like(values)
    for axis in axes:
        width = [(1, 1) if k == axis else (0, 0) for k in range(image.ndim)]
        padded = np.pad(values, width, mode="reflect" if image.shape[axis] > 1 else "edge")
        total += np.diff(padded, 2, axis)
    limits = np.iinfo(image.dtype)
    return np.clip(total, limits.min, limits.max).astype(image.dtype)


@laplacian.cases
def _cases() -> list[op.Case]:
    images = op.samples((9, 8, 3), (1, 7, 3), (6, 11, 3))
    planes = op.samples((3, 6, 7), (3, 9, 5), layout="CHW", dtype=op.int16, low=-999, high=999)
    volumes = op.samples((5, 6, 7, 2), layout="DHWC", dtype=op.int16, low=-99, high=99)
    floats = op.samples((7, 7), (3, 5), layout="HW", dtype=op.float32)
    plain = {"smoothing_size": 1}
    each: Any = {"window_size": np.array([[3], [5], [7]])}
    each["scale"] = np.array([[1], [0.5], [0.01]], np.float32)
    return [
        op.case("default", images),
        op.case("plain", images, **plain).each(lambda one: _expected(one, (0, 1))),
        op.case("planes", planes, **plain).each(lambda one: _expected(one, (1, 2))),
        op.case("volume", volumes, **plain).equals([_expected(volumes.at(0), (0, 1, 2))]),
        op.case("deep", volumes, window_size=[3, 5, 7]),
        op.case("floats", floats, window_size=[3, 7], normalized_kernel=True),
        op.case("to float", images, scale=0.3, dtype=op.float32),
        op.case("half", op.samples((5, 6), layout="HW", dtype=op.float16)).no_oracle(),
        op.case("sequence", op.samples((2, 5, 6, 3), layout="FHWC"), scale=[2.0, 0.5]),
        op.case("other letters", op.samples((2, 5, 6), layout="CAB"), scale=[2.0, 0.5]),
        op.case("line", op.samples((9,), layout="W", dtype=op.int16, low=-99, high=99)),
        op.case("per sample", images, **each),
        op.case("no layout", op.samples((4, 5, 3), layout=""), smoothing_size=3),
        op.case("empty", op.samples()).equals([]),
        op.case("even", images, window_size=4).value_error("`window_size`"),
        op.case("no window", images, window_size=1).value_error("`window_size`"),
        op.case("smoothing", images, smoothing_size=0).value_error("`smoothing_size`"),
        op.case("both", images, scale=1.0, normalized_kernel=True).value_error("`scale`"),
        op.case("axes", images, scale=[1.0, 2.0, 3.0]).value_error("`scale`"),
        op.case("dtype", images, dtype=op.int16).type_error("`dtype`"),
        op.case("bool", op.samples((2, 2), layout="HW", dtype=op.bool_)).type_error("bool"),
        op.case("layout", op.samples((2, 2, 2), layout="HCW", dtype=op.uint8)).type_error("layout"),
    ]
