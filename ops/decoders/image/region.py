"""What the decoders that cut a window share: the check of windows, and how they decode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import Decode, DecodeSeveral
from gradiva.eager.types.arrays import Array
from gradiva.ops.decoders.formats.decode_region import decode_region_into, decode_region_somewhere
from gradiva.ops.decoders.image_info import Window
from gradiva.ops.decoders.jpeg.cpu import straight_decoder
from gradiva.ops.decoders.jpeg.rows import WORTH
from gradiva.ops.decoders.jpeg.small import Parts, decode_small_jpegs
from gradiva.ops.decoders.jpeg.window import decode_jpeg_window, leaves_enough_out

from .failures import failed
from .image import decode_options, direct_colors, small_files
from .plan import COLOR_NAMES, DecodePlan


def place_windows(
    call: op.Call, plan: DecodePlan, windows: op.Int64Array, inside: bool = False
) -> DecodePlan:
    """The plan for windows, from that for whole images.

    windows: (N, 4): top, left, height, width; inside: whether all are known to lie in their images.
    Raises OperatorValueError, naming the sample, for a window that is empty or leaves its image. A
    sample without a header gets the extents of its window, where they are pixels.
    """
    shapes, failed = plan.shapes, list(call.failures or ())
    if inside and not failed:
        result = np.concatenate([windows[:, 2:], shapes[:, 2:]], axis=1)
        return replace(plan, shapes=result, windows=windows)
    if failed:
        windows = windows.copy()
        windows[failed, :2] = 0
        windows[failed, 2:] = (
            1 if call["on_error"] == "skip" else np.maximum(windows[failed, 2:], 1)
        )
    low, high = windows[:, :2], windows[:, :2] + windows[:, 2:]
    outside = (low < 0) | (high > shapes[:, :2]) | (high <= low)
    outside[failed] = False
    if outside.any():
        bad = outside.any(axis=1)
        sample = int(np.flatnonzero(bad)[0])
        top, left, height, width = windows[sample].tolist()
        what = "is empty" if min(height, width) < 1 else "leaves the image"
        raise op.OperatorValueError(
            f"the window {what}",
            expected="a window inside of {} x {} pixels".format(*shapes[sample, :2].tolist()),
            got=f"{height} x {width} pixels at row {top}, column {left}",
            sample=sample,
        )
    result = shapes.copy()
    result[:, :2] = windows[:, 2:]
    return replace(plan, shapes=result, windows=windows)


def _decode(call: op.Call) -> tuple[Callable[[int, Any], None], op.Int64Array]:
    decode = _by_window(call, call.inputs[0].arrays(), decode_region_into)
    return decode, DecodePlan.of(call).headers.rows[:, :2].prod(axis=1)


def _decode_in_place(call: op.Call) -> tuple[Callable[[int, Any], tuple[int, int]], op.Int64Array]:
    """The window stays where it is in what was decoded: nothing is copied."""
    channels: int = int(call.batch_shapes[0].shapes[:, 2].max())
    plan, encoded = DecodePlan.of(call), functools.cache(call.inputs[0].arrays)
    windows, direct = plan.windows, direct_colors(call)
    fast: bool = call["use_fast_idct"]
    by_window = None if direct.all() else _by_window(call, encoded(), decode_region_somewhere)
    assert windows is not None

    def decode_once(sample: int, color: str, memory: Any) -> tuple[int, int]:
        info, window = plan.infos[sample], _window(windows, sample)
        if leaves_enough_out(info, window):
            return decode_jpeg_window(encoded()[sample], info, color, window, fast, memory)
        made = 1 if color == "GRAY" else 3
        pitch = info.width * made
        whole = memory[: info.height * pitch].reshape(info.height, info.width, made)
        straight_decoder()(encoded()[sample], info, color, whole, fast)
        return window[0] * pitch + window[1] * made, pitch

    def decode(sample: int, memory: Any) -> tuple[int, int]:
        if not direct[sample]:
            return by_window(sample, memory)  # type: ignore[misc,no-any-return]
        color = COLOR_NAMES[int(direct[sample])]
        try:
            return decode_once(sample, color, memory)
        except ValueError as error:
            again = functools.partial(decode_once, sample, color, memory)
            return failed(error, plan.infos[sample], sample, again)

    return decode, plan.headers.rows[:, :2].prod(axis=1) * channels


def _window(windows: op.Int64Array, sample: int) -> Window:
    top, left, height, width = windows[sample].tolist()
    return top, left, height, width


def _several_in_place(call: op.Call) -> DecodeSeveral | None:
    """The small JPEGs: whole, or the window alone, where that leaves enough out."""
    several, laid = _several(call, by_row=False)
    return several and several._replace(laid=laid)


def _several_alone(call: op.Call) -> DecodeSeveral | None:
    """The windows of small JPEGs that leave enough out, row by row."""
    return _several(call, by_row=True)[0]


def _several(call: op.Call, by_row: bool) -> tuple[DecodeSeveral | None, op.Int64Array]:
    """What decodes the windows of small JPEGs, and where that says how they lie."""
    windows = DecodePlan.of(call).windows
    assert windows is not None
    parts = Parts(np.ascontiguousarray(windows), np.zeros((call.size, 2), np.int64), WORTH)
    threads, fast = call.pool.num_threads, call["use_fast_idct"]
    facts = small_files(call)
    if by_row:
        facts[facts[:, 0] * facts[:, 1] - windows[:, 2] * windows[:, 3] < WORTH, 3] = 0
    files = call.inputs[0], facts
    return decode_small_jpegs(*files, fast, parts, threads, by_row=by_row), parts.laid


def _by_window(
    call: op.Call, encoded: list[Array], function: Callable[..., Any]
) -> Callable[[int, Any], Any]:
    """`function(data, info, window, memory, options)` of a sample of the call."""
    plan = DecodePlan.of(call)
    windows = plan.windows
    assert windows is not None
    options = decode_options(call)

    def decode(sample: int, memory: Any) -> Any:
        given = encoded[sample], plan.infos[sample], _window(windows, sample), memory
        try:
            return function(*given, **options)
        except ValueError as error:
            again = functools.partial(function, *given, **options)
            return failed(error, plan.infos[sample], sample, again)

    return decode


region = Decode(
    _decode, _decode_in_place, decode_several=_several_in_place, decode_several_alone=_several_alone
)
"""The fusion role of all of them."""
