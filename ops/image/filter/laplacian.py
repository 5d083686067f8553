"""`laplacian`: the sum of the second derivatives along the axes of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.jit.convert import convert_array
from gradiva.eager.jit.jit import jit
from gradiva.eager.operators.arguments import DTypeLike, FloatsArg, IntsArg
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.types.batch_shape import Geometry, Int64Array
from gradiva.eager.types.dtypes import bool_, float16, float32, int16, uint8
from gradiva.eager.types.sample_type import SampleType

from .blur_gpu import Windows, blur_launches
from .blur_rows import blur_row, convert_line, reflect, symmetric
from .blur_windows import blurred_type, extents_of
from .gaussian_windows import F32
from .laplacian_windows import laplacian_windows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["laplacian"]


@operator("laplacian", frames=("scale", "smoothing_size", "window_size"))
def laplacian(
    input: SampleType,
    /,
    *,
    window_size: IntsArg = 3,
    smoothing_size: IntsArg | None = None,
    scale: FloatsArg | None = None,
    normalized_kernel: bool = False,
    dtype: DTypeLike | None = None,
    **common: Unpack[Common],
) -> SampleType:
    """The Laplacian of samples: the sum of the second derivatives along each of the axes D, H, W.

    input: any dtype but bool; layouts HWC, CHW, HW, W and these with D or F. Without a layout
        samples have at most 3 axes, all of which count.
    window_size: of the derivatives: odd, 3 to 31, one or one per axis; may differ per sample.
    smoothing_size: of the windows that smooth each derivative along the other axes: odd, 1 (no
        smoothing) to 31, one or one per axis; may differ per sample. By default the window size of
        the derivative.
    scale: factors of the derivatives, one or one per axis, 1 by default; may differ per sample.
    normalized_kernel: scale each derivative by 2 ** (n + 2 - s), with n axes and s the sum of the
        sizes of its windows; not together with `scale`.
    dtype: of the output, float32 or the input's; the input's by default.

    Smoothing windows are binomial coefficients, those of derivatives their second differences (for
    size 3: 1, -2, 1), as in OpenCV's Laplacian. Beyond the border pixels are mirrored, the
    outermost one not repeated. The sums are float32, along W, then H, then D; the derivatives are
    scaled and added in the order of the axes; then the value is rounded half away from zero.

    Returns samples of the same shapes. Raises OperatorTypeError for other dtypes and layouts,
    OperatorValueError for other sizes.
    """
    return blurred_type(input, dtype)


@laplacian.shapes
def _shapes(call: Call) -> Geometry:
    return call.inputs[0].geometry


@jit
def _add_line(source: Any, factor: Any, target: Any) -> None:
    for j in range(source.size):
        target[j] = target[j] + factor * source[j]


@jit
def _derive_samples(
    src: Any,
    src_offsets: Any,
    dst: Any,
    dst_offsets: Any,
    extents: Any,
    weights: Any,
    halves: Any,
    factors: Any,
    begin: int,
    end: int,
) -> None:
    """extents: (planes, D, H, W, C). Each derivative is a blur with windows of its own."""
    partials = weights.shape[1]
    pitch, most, rings, volume = 1, 1, 1, 0
    for i in range(begin, end):
        row = extents[i, 3] * extents[i, 4]
        deep = False
        for a in range(partials):
            pitch = max(pitch, row + 2 * halves[i, a, 2] * extents[i, 4])
            rings = max(rings, (2 * halves[i, a, 1] + 1) * row)
            for axis in range(3):
                most = max(most, 2 * halves[i, a, axis] + 1)
            deep = deep or halves[i, a, 0] > 0
        if deep:
            volume = max(volume, extents[i, 1] * extents[i, 2] * row)
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
                tags[:] = -1
                for y in range(height):
                    total[:row] = np.float32(0)
                    for a in range(partials):
                        blur_row(
                            src,
                            base,
                            row,
                            channels,
                            y,
                            height,
                            weights[i, a, 1],
                            halves[i, a, 1],
                            weights[i, a, 2],
                            halves[i, a, 2],
                            line,
                            ring[a],
                            tags[a],
                            at,
                            slots,
                            out,
                        )
                        _add_line(out[:row], factors[i, a], total[:row])
                    convert_line(total[:row], dst[to + y * row : to + (y + 1) * row])
                continue
            sums[:size] = np.float32(0)
            for a in range(partials):
                for z in range(depth):
                    tags[0] = -1
                    for y in range(height):
                        blur_row(
                            src,
                            base + z * height * row,
                            row,
                            channels,
                            y,
                            height,
                            weights[i, a, 1],
                            halves[i, a, 1],
                            weights[i, a, 2],
                            halves[i, a, 2],
                            line,
                            ring[0],
                            tags[0],
                            at,
                            slots,
                            out,
                        )
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


def _windows(call: Call) -> tuple[Int64Array, F32, Int64Array, F32]:
    """Extents, and what `laplacian_windows` returns."""
    extents, axes = extents_of(call.inputs[0].layout, call.inputs[0].geometry.shapes)
    return extents, *laplacian_windows(
        call["window_size"],
        call["smoothing_size"],
        call["scale"],
        call["normalized_kernel"],
        axes,
        call.size,
    )


@laplacian.cpu
def _cpu(call: Call) -> None:
    source, target = call.inputs[0], call.outputs[0]
    extents, weights, halves, factors = _windows(call)
    data, result = source.data, target.data
    # Numba has no float16 on the CPU: such samples pass through float32.
    if source.dtype is float16:
        data = convert_array(data, np.dtype(np.float32))
    if target.dtype is float16:
        result = np.zeros(result.shape, np.float32)
    call.for_samples(
        _derive_samples,
        data,
        source.geometry.offsets,
        result,
        target.geometry.offsets,
        extents,
        weights,
        halves,
        factors,
    )
    if result is not target.data:
        target.data[:] = convert_array(result, target.data.dtype)


@laplacian.gpu
def _gpu(call: Call) -> list[Launch]:
    _, weights, halves, factors = _windows(call)
    return blur_launches(
        call,
        [
            Windows(weights[:, axis], halves[:, axis], np.ascontiguousarray(factors[:, axis]))
            for axis in range(weights.shape[1])
        ],
    )


def _expected(image: np.ndarray[Any, Any], axes: tuple[int, ...]) -> Any:
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
def _cases() -> list[Case]:
    images = samples((9, 8, 3), (1, 7, 3), (6, 11, 3))
    planes = samples((3, 6, 7), (3, 9, 5), layout="CHW", dtype=int16, low=-999, high=999)
    volumes = samples((5, 6, 7, 2), layout="DHWC", dtype=int16, low=-99, high=99)
    floats = samples((7, 7), (3, 5), layout="HW", dtype=float32)
    plain = {"smoothing_size": 1}
    return [
        case("default", images),
        case("plain", images, **plain).equals([_expected(images.at(i), (0, 1)) for i in range(3)]),
        case("planes", planes, **plain).equals([_expected(planes.at(i), (1, 2)) for i in range(2)]),
        case("volume", volumes, **plain).equals([_expected(volumes.at(0), (0, 1, 2))]),
        case("deep", volumes, window_size=[3, 5, 7]),
        case("floats", floats, window_size=[3, 7], normalized_kernel=True),
        case("to float", images, scale=0.3, dtype=float32),
        case("half", samples((5, 6), layout="HW", dtype=float16)).no_oracle(),
        case("sequence", samples((2, 5, 6, 3), layout="FHWC"), scale=[2.0, 0.5]),
        case("line", samples((9,), layout="W", dtype=int16, low=-99, high=99)),
        case(
            "per sample",
            images,
            window_size=np.array([[3], [5], [7]]),
            scale=np.array([[1], [0.5], [0.01]], np.float32),
        ),
        case("no layout", samples((4, 5, 3), layout=""), smoothing_size=3),
        case("empty", samples()).equals([]),
        case("even", images, window_size=4).value_error("`window_size`"),
        case("no window", images, window_size=1).value_error("`window_size`"),
        case("smoothing", images, smoothing_size=0).value_error("`smoothing_size`"),
        case("both", images, scale=1.0, normalized_kernel=True).value_error("`scale`"),
        case("axes", images, scale=[1.0, 2.0, 3.0]).value_error("`scale`"),
        case("dtype", images, dtype=int16).type_error("`dtype`"),
        case("bool", samples((2, 2), layout="HW", dtype=bool_)).type_error("bool"),
        case("layout", samples((2, 2, 2), layout="HCW", dtype=uint8)).type_error("layout"),
    ]
