"""`compat` of operators on colors and neighborhoods: whose bits a call gives, and what it may take.

With "torchvision" the arithmetic is that of `torchvision.transforms.v2.functional` on tensors,
which is in `torch_colors.py`; with "pil" Pillow itself is called, as torchvision does for its
images.
docs/compat.md says what is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import Array, Float32Array

DTYPES: Final = {"pil": (op.uint8,), "torchvision": (op.uint8, op.float32)}
LAYOUTS: Final = ("HWC", "CHW", "HW", "FHWC", "FCHW", "FHW")
ASSUMED: Final = {2: "HW", 3: "HWC", 4: "FHWC"}

pillow: Any = lazy_module("PIL.Image", "pillow")


def check_compat(
    compat: str, input: op.SampleType, layout: str | None = None, dtype: Any = None
) -> None:
    """Refuse what the library has no meaning for, as far as the types tell.

    layout: the one that a sample without a layout is taken to have; dtype: that of the output.
    """
    if compat not in DTYPES:
        raise op.wrong_value("compat", f"one of {', '.join(DTYPES)}", repr(compat))
    allowed = DTYPES[compat]
    if input.dtype is not None and input.dtype not in allowed:
        names = " or ".join(map(str, allowed))
        raise op.wrong_type("compat", f"{names} with {compat!r}", f"samples of {input.dtype}")
    layout = input.layout or layout
    if layout and layout not in LAYOUTS:
        expected = f"images of one of the layouts {', '.join(LAYOUTS)}"
        raise op.wrong_type("compat", expected, f"layout {layout!r}")
    if dtype is not None and input.dtype is not None and dtype is not input.dtype:
        raise op.wrong_type("dtype", f"the input's, {input.dtype}, with `compat`", dtype)


def compat_type(input: op.SampleType, compat: str) -> op.SampleType:
    """The type rule of operators that always have a `compat`."""
    check_compat(compat, input)
    return op.with_layout(input, op.require_layout(input, LAYOUTS, ASSUMED))


def compat_libraries(
    arguments: Mapping[str, Any], types: Sequence[op.SampleType]
) -> tuple[str, ...]:
    """The library whose code computes."""
    return ("pillow",) if arguments.get("compat") == "pil" else ()


def layout_planes(layout: str, shapes: op.Int64Array) -> op.Int64Array:
    """(N, 6): frames, rows, columns, channels of each sample, and how many elements lie between
    neighbors in a row, and between the channels of a pixel."""
    extents = {letter: shapes[:, axis] for axis, letter in enumerate(layout)}
    planes = np.ones((len(shapes), 6), np.int64)
    for column, letter in enumerate("FHWC"):
        planes[:, column] = extents.get(letter, 1)
    if layout.endswith("C"):
        planes[:, 4] = planes[:, 3]
    else:
        planes[:, 5] = planes[:, 1] * planes[:, 2]
    return planes


def planes_of(call: op.Call, wanted: tuple[int, ...] | None = (1, 3)) -> op.Int64Array:
    """Those of the input. Raises OperatorValueError unless there are as many channels as one of
    `wanted`."""
    layout = call.inputs[0].layout or call.types[0].layout or ""
    planes = layout_planes(layout, call.inputs[0].batch_shape.shapes)
    if wanted is not None:
        channels, expected = planes[:, 3], " or ".join(map(str, wanted))
        problem = "the input has a number of channels that `compat` does not take"
        op.refuse_samples(~np.isin(channels, wanted), "", expected, channels, problem)
    return planes


def check_factors(call: op.Call, name: str) -> None:
    """Refuse factors that torchvision refuses, and those that are not finite."""
    values, most = call[name], np.finfo(np.float32).max
    bad = ~((values >= 0) & (values <= most))
    op.refuse_samples(bad, name, "a number from 0 on, with `compat`", values)


def blending(call: op.Call, name: str) -> Float32Array:
    """(N, 3): the factor, 1 less the factor, and the largest value of the dtype."""
    check_factors(call, name)
    factors = call[name].astype(np.float64)
    rows = np.empty((call.size, 3), np.float32)
    with np.errstate(over="ignore"):
        rows[:, 0], rows[:, 1] = factors, 1.0 - factors
    rows[:, 2] = largest(call)
    return rows


def largest(call: op.Call) -> float:
    """The value of white."""
    return 1.0 if call.inputs[0].dtype.is_float else 255.0


def frames_of(sample: Array, layout: str) -> Array:
    """A view (frames, H, W, C) of a sample."""
    if "C" in layout:
        sample = np.moveaxis(sample, layout.index("C"), -1)
    else:
        sample = sample[..., None]
    return sample if "F" in layout else sample[None]


def as_pillow(pixels: Array) -> Any:
    """An image of Pillow, L or RGB, of (H, W, 1) or (H, W, 3)."""
    return pillow.fromarray(
        np.ascontiguousarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    )


def run_pillow(call: op.Call, change: Callable[[Any, int], Any]) -> None:
    """The kernel: `change(image, sample)` makes of each frame, as an image, that of the output."""
    planes_of(call)
    source, target = call.inputs[0], call.outputs[0]
    layout = target.layout

    def make(sample: int) -> None:
        if not target.array(sample).size:
            return
        frames = frames_of(source.array(sample), layout)
        for one, made in zip(frames, frames_of(target.array(sample), layout), strict=True):
            made[...] = np.asarray(change(as_pillow(one), sample)).reshape(made.shape)

    call.each_sample(make, source.batch_shape.volumes.tolist())
